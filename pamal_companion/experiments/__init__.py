"""The paper's experiments, one short module each: data, tasks, architecture and defaults."""

from pamal_companion.runs.options import parse_value


def listed(value: object) -> tuple[object, ...]:
    """Return a tuple of one value, of a list, or of one text with commas, as papermill passes it
    on."""
    if isinstance(value, str):
        return tuple(parse_value(part.strip()) for part in value.split(","))
    return tuple(value) if isinstance(value, list | tuple) else (value,)
