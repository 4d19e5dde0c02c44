"""Methods of one's own beside the paper's: tables, the words that they license, and a figure."""

import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from pamal_companion.data.atomic import write_atomic
from pamal_companion.plots import style
from pamal_companion.plots.studies import methods_figure
from pamal_companion.runs.records import Record
from pamal_companion.study import comparisons, frame, paper
from pamal_companion.study.measures import CHOSEN, margin, value
from pamal_companion.study.statistics import WITHIN, number

FRONT, NETWORK = "hypervolume ↑", "one network ↑"
END = 'A chosen rate that is "an end" of the three may not be the best: move them with -p lr.'
ONE = (
    '"one network" is the product of the objectives of one network. Of a front it is the network '
    "with the largest product on validation."
)
VERDICTS = (
    "A method is ahead or behind if the 95 % interval of the difference leaves out 0 and the "
    f"difference is more than {WITHIN}, and level if the 90 % interval lies within {WITHIN}. "
    "Otherwise it is open, and more seeds may tell."
)
LOSSES = (
    "Where an objective is a loss, or has another unit, the hypervolume has no margin: any "
    "difference may be a lead, and no method is level unless it is the same."
)
SEEDS = (
    "The words are not corrected for how many there are. The seed at which rates are chosen judges "
    "no method."
)


def words(tables: Iterable[pd.DataFrame]) -> str:
    """Return the meaning of the words in `tables`, of one network or of losses only where there is
    one."""
    headings = [str(heading) for table in tables for heading in table]
    said = [END]
    if NETWORK in headings:
        said.append(ONE)
    said.append(VERDICTS)
    if any(has_unit(heading.rpartition(" ")[0]) for heading in headings):
        said.append(LOSSES)
    return " ".join([*said, SEEDS])


def tables(
    volumes: Mapping[str, Mapping[float, float]],
    chosen: Mapping[str, float],
    records: Mapping[str, Sequence[Record]],
    own: Iterable[str],
) -> dict[str, pd.DataFrame]:
    """Return the tables of the runs of one experiment, by their titles: the rates on validation,
    the means over seeds on test, and the differences of each of one's own methods to the others.

    - `volumes`, `chosen`: by method the hypervolume on validation at each rate, NaN if it diverged,
      and the rate that was chosen.
    - `records`: by method those of the chosen rate.
    - `own`: names of the methods that are compared with all others; PaMaL if there are none.
    """
    found = frame.runs(record for of_method in records.values() for record in of_method)
    named = {setting: printed(setting.method) for setting in found}
    measures = _measures([record for of_method in records.values() for record in of_method])
    judged = {name: measures[name] for name in (FRONT, NETWORK) if name in measures}
    means = comparisons.methods(named, found, measures)
    titled = {
        "rates: hypervolume ↑ on validation, at a seed that judges nothing": _rates(
            volumes, chosen
        ),
        "test: mean ± deviation over seeds": means.reset_index(names="method"),
    }
    # A share is between 0 and 1. What a difference means of another unit, the reference decides.
    within = 0.0 if any(map(has_unit, measures.values())) else None
    for method in (*own,) or ("pamal",):
        away = comparisons.ahead(named, found, judged, method, within)
        away = away.rename_axis(["measure", "method", "other method"]).reset_index()
        away = away.drop(columns="method").rename(columns={"other": "its mean"})
        titled[f"test: {printed(method)} minus each other method"] = away
    return titled


def has_unit(objective: str) -> bool:
    """Return whether an objective, by its name, is no share of 1, as a loss is none; False of any
    other name."""
    return "/" in objective and not margin(objective)


def printed(method: str) -> str:
    """Return the name of a method in print, which is its own if it is not the paper's."""
    return paper.PRINTED.get(method, method)


def _measures(records: Sequence[Record]) -> dict[str, str]:
    """Return the measures of a table by their headings: the best of each objective, the hypervolume
    and, if every record has one, that of the network one would choose."""
    ways = records[0].objectives.items()
    found = {f"{name} {'↑' if way == 'max' else '↓'}": name for name, way in ways}
    found[FRONT] = "hypervolume"
    one = CHOSEN + "hypervolume"
    if not any(np.isnan(value(record, one, "test")) for record in records):
        found[NETWORK] = one
    return found


def _rates(
    volumes: Mapping[str, Mapping[float, float]], chosen: Mapping[str, float]
) -> pd.DataFrame:
    """Return the hypervolume on validation of each method at each rate, and the chosen rate, which
    may be an end of the grid: a wider grid could then have a better one."""
    rows: dict[str, dict[str, str]] = {}
    for method, of_method in volumes.items():
        cells = {f"lr {rate:g}": number(of_method[rate]) for rate in sorted(of_method)}
        is_end = chosen[method] in (min(of_method), max(of_method))
        rate = f"{chosen[method]:g}{', an end' if is_end else ''}"
        rows[printed(method)] = {name: cell or "diverged" for name, cell in cells.items()}
        rows[printed(method)]["chosen"] = rate
    return pd.DataFrame.from_dict(rows, "index").reset_index(names="method")


def draw(path: Path, records: Mapping[str, Sequence[Record]], provenance: str) -> str:
    """Draw the fronts of all methods on test into the PNG file `path`, and return the caption."""
    fronts = {printed(m): [r.front("test") for r in found] for m, found in records.items()}
    with plt.rc_context():
        style.use()
        figure = methods_figure(fronts, provenance)
        content = io.BytesIO()
        figure.savefig(content, dpi=150, metadata={"Software": None})
        plt.close(figure)
    write_atomic(path, content.getvalue())
    return str(figure.get_label())
