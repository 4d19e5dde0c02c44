"""What judges: grid, records and the paper's numbers in one frame. Imports `runs`, `plots` and
fronts; no torch.
"""
