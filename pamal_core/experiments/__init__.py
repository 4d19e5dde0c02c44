"""The paper's experiments, one short module each: data, tasks, architecture and defaults. Imports
`runs`, `data` and the method.
"""
