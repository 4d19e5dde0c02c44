"""From alpha to weights: the ensemble and its rivals, on the skeleton of any module; and the
paper's architectures. Part of the method.
"""
