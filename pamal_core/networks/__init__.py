"""From alpha to weights: ensembles, on the skeleton of any module."""
