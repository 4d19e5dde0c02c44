"""The illustrative problem in two weights: its functions, 25 pairs as one batched run, and outcomes
against the exact front.
"""
