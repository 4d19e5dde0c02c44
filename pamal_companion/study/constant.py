"""Say what a constant answer has, and which tasks of a run no network answers better."""

from pamal_companion.runs.records import Record

CENSUS = {
    "age": 0.6054,
    "dividends": 0.8945,
    "education": 0.6982,
    "full-year": 0.6486,
    "income": 0.9380,
    "joint-filer": 0.6016,
    "male": 0.5191,
    "never-married": 0.5675,
}
"""The share of the more frequent answer on test, of the labels as released."""
OF_A_DIGIT = 0.13
"""A bound above the share of the most frequent digit on test in each of 300 draws."""


def unlearnt(record: Record) -> list[str]:
    """Return the tasks with an accuracy at which no network on test is better than a constant
    answer by a hundredth of a point."""
    table, found = record.front("test").table, []
    for name in record.objectives:
        task, _, metric = name.partition("/")
        constant = None
        if record.experiment.startswith("multimnist"):
            constant = OF_A_DIGIT
        elif record.options.get("masters") == "as_released":
            constant = CENSUS.get(task)
        if metric == "accuracy" and constant and not table[name].max() > constant + 0.0001:
            found.append(task)
    return found
