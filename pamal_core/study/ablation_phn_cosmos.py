"""The sweeps of PHN and COSMOS (appendix B4): their grids, tables and winners. No torch here."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal

import pandas as pd
from pydantic import BeforeValidator, Field, model_validator

from pamal_core.errors import InputError
from pamal_core.experiments.ablation_options import COMMON, AblationOptions, listed
from pamal_core.plots.criterion import Winner
from pamal_core.runs.records import Record
from pamal_core.study import paper
from pamal_core.study.paper import PRINTED

THRESHOLDS = (None, -0.5, -0.6)
"""What Spearman's correlation must be below; None asks for nothing."""

SWEPT = {"phn": ["p", "solver", "lr"], "cosmos": ["p", "lam", "lr"]}
EPOCHS = 10
"""What both methods are trained for, as everything else on these two data sets."""

MEASURES = ["hypervolume", "spearman"]
EXCERPT = {"p": (0.1, 1.0), "lam": (1.0, 5.0), "lr": (1e-3,)}
"""The part of a grid that the sample is for."""

Method = Literal["phn", "cosmos"]


class SweepOptions(AblationOptions):
    """The common options of an ablation, and which methods are swept.

    `lrs` narrows the grids to some of their learning rates; `recorded` to what has a record in the
    folder `results`, so that nothing is trained. `methods` and `lrs` may be one text with commas.
    """

    known = (*COMMON, "methods", "lrs", "recorded")
    methods: Annotated[tuple[Method, ...], BeforeValidator(listed), Field(min_length=1)] = (
        "phn",
        "cosmos",
    )
    lrs: Annotated[tuple[float, ...], BeforeValidator(partial(listed, kind=float))] | None = None
    recorded: bool = False

    @model_validator(mode="after")
    def _reads_from_a_folder(self) -> "SweepOptions":
        if self.recorded and self.results is None:
            raise ValueError("`recorded` needs `results`, the folder of the records. Found None.")
        return self


def printed(experiment: str, method: str) -> pd.DataFrame:
    """The paper's table of `method` on `experiment`, a row per setting, in its order.

    Indexed by p, solver or lam, and lr; validation data, means over three seeds. Accuracies and
    hypervolume: higher is better; spearman: lower is better.
    """
    rows = paper.table(f"{method}_{experiment}").astype({"p": float})
    if "solver" in rows:
        rows["solver"] = rows.solver.str.lower()
    return rows.set_index(SWEPT[method])


def grid(
    experiment: str, method: str, lrs: Sequence[float] | None = None, *, excerpt: bool = False
) -> list[dict[str, Any]]:
    """The settings of the paper's table, in its order, or of them those with one of `lrs`.

    `excerpt` keeps the few that the sample is for. InputError where no setting is left.
    """
    table = printed(experiment, method).index.to_frame(index=False)
    known = sorted(table.lr.unique().tolist())
    for name, allowed in (EXCERPT if excerpt else {}).items():
        table = table[table[name].isin(allowed)] if name in table else table
    if lrs is not None:
        table = table[table.lr.isin(lrs)]
    if table.empty:
        raise InputError(
            f"`lrs` must have one of the learning rates of {method} on {experiment}, {known}"
            f"{', and the sample has 0.001 alone' if excerpt else ''}. Found {lrs}."
        )
    return [{"method": method} | row for row in table.astype(object).to_dict("records")]


def settings(options: SweepOptions, *, excerpt: bool) -> list[dict[str, Any]]:
    """What is trained for each seed: PaMaL at the experiment's default, and every grid."""
    grids = [grid(options.experiment, m, options.lrs, excerpt=excerpt) for m in options.methods]
    chosen = [{"method": "pamal"}, *(setting for one in grids for setting in one)]
    return [setting | {"seed": seed} for seed in options.seeds for setting in chosen]


def is_comparable(record: Record) -> bool:
    """Whether `record` is of the paper's data and number of epochs."""
    return record.data.split("/")[1] == "full" and record.options["epochs"] == EPOCHS


def setting(record: Record) -> tuple[Any, ...]:
    """Where `record` belongs in the table of its method. Its options leave out defaults."""
    values = {"solver": "linear", "lr": 1e-3} | record.options
    return tuple(values[name] for name in SWEPT[record.method])


def measured(records: Sequence[Record]) -> pd.DataFrame:
    """`printed`, with the task names for the accuracies, of our runs of one method; and `order`.

    Validation data, means over the seeds. Spearman is `Front.competition`, which is as low where
    the trade-off works backwards. `order` tells: the rank correlation of a task's weight with its
    accuracy, mean over tasks, 1 is right and -1 backwards. Either is NaN where one task has the
    same accuracy at every alpha, in any of the seeds.
    """
    rows = []
    for record in records:
        front, summary = record.front("validation"), record.summary["validation"]
        own = dict(zip(SWEPT[record.method], setting(record), strict=True))
        numbers = {
            "hypervolume": summary["hypervolume"],
            "spearman": front.competition(),
            "order": front.spearman().mean(),
        }
        rows.append(own | front.best() | numbers)
    frame = pd.DataFrame(rows)
    groups = frame.groupby(SWEPT[records[0].method], sort=False)
    return groups.mean().where(groups.count().eq(groups.size(), axis=0))


def beside_the_paper(ours: pd.DataFrame, theirs: pd.DataFrame, comparable: bool) -> pd.DataFrame:
    """`measured` and the rows of `printed` with the same settings; without the latter where the
    data are not the paper's."""
    if not comparable:
        return ours
    columns = theirs.set_axis([*ours.columns[:2], *MEASURES], axis=1).reindex(ours.index)
    return pd.concat({"measured": ours, "paper": columns}, axis=1)


def winner(table: pd.DataFrame, threshold: float | None) -> tuple[Any, ...] | None:
    """The setting with the largest hypervolume among those with Spearman below `threshold`.

    None where there is none. A setting without a correlation is below no threshold. Of equal
    settings the first.
    """
    allowed = table if threshold is None else table[table.spearman < threshold]
    return None if allowed.empty else tuple(allowed.hypervolume.idxmax())


def criterion(threshold: float | None) -> str:
    """`threshold` in words."""
    return "no threshold" if threshold is None else f"S < \N{MINUS SIGN}{-threshold:g}"


def describe(names: Sequence[str], values: Sequence[Any] | None) -> str:
    """A setting in words; None is that of no winner."""
    if values is None:
        return "no setting passes"
    pairs = zip(names, values, strict=True)
    return ", ".join(f"{n} = {v}" if isinstance(v, str) else f"{n} = {v:g}" for n, v in pairs)


def winners(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """A row per method and threshold: the winning setting in `tables[method]`, and its numbers."""
    rows, columns = {}, [*MEASURES, "order"]
    for method, table in tables.items():
        known = table[[column for column in columns if column in table]]
        for threshold in THRESHOLDS:
            found = winner(table, threshold)
            numbers = {} if found is None else known.loc[found].to_dict()
            named = {"setting": describe(table.index.names, found)} | numbers
            rows[method, criterion(threshold)] = named
    return pd.DataFrame.from_dict(rows, "index").rename_axis(["method", "criterion"])


def panels(
    records: Mapping[str, Sequence[Record]], tables: Mapping[str, pd.DataFrame]
) -> dict[str, dict[str, Winner]]:
    """For each threshold PaMaL and the winners in `tables`, with their validation fronts."""
    pamal = Winner("default", [record.front() for record in records["pamal"]])
    shown = {}
    for threshold in THRESHOLDS:
        methods = {PRINTED["pamal"]: pamal}
        for method, table in tables.items():
            found = winner(table, threshold)
            fronts = [r.front() for r in records[method] if setting(r) == found]
            methods[PRINTED[method]] = Winner(describe(table.index.names, found), fronts)
        shown[criterion(threshold)] = methods
    return shown
