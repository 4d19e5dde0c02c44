"""What pages teach without a run of their own: Theorem 1 built, the schematics, the training
replay.
"""
