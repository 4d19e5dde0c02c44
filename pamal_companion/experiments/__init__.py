"""The paper's experiments, one short module each: data, tasks, architecture and defaults."""
