"""Judge: grid, records and the paper's numbers in one frame, without torch."""
