"""Teach what needs no run of its own: Theorem 1 built, the schematics, the training
replay.
"""
