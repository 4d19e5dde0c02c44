"""What the learning rate does to PaMaL and to one network. No torch here.

The members of PaMaL learn with M times the option `lr`, unless `lr_scaling` is "plain". A step of
Adam is as long as its rate, however small alpha makes the gradient of a member, so that PaMaL and
one network are alike where Adam has the same rate, and not where the option has.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from pamal_core.runs.options import Options
from pamal_core.study.beyond import Group, Row, groups, rows
from pamal_core.study.tables import ONE_NETWORK, SEEDS

PAPER = Options.model_fields["lr"].default
MEMBERS = {"multimnist": 2, "census": 2, "multimnist3": 3}
SPLITS = ["validation", "test"]


def runs(data: str, results: Path) -> pd.DataFrame:
    """A row for each run of a setting that PaMaL or one network has with several rates of Adam:
    the `setting`, the `rate`, the `weights` ("last", or their mean and how fast it forgets), the
    `seed` and the hypervolume on each split, higher is better; without a record no number."""
    found = pd.DataFrame(
        {"setting": setting.label, "rate": rate, "weights": weights, "seed": seed} | _measured(run)
        for setting, names in _settings(data)
        if len({rate for rate, _ in names}) > 1
        for (rate, weights), name in names.items()
        for seed, run in (dict.fromkeys(SEEDS) | groups(results, name)).items()
    )
    return found.assign(setting=pd.Categorical(found.setting, pd.unique(found.setting)))


def _settings(data: str) -> list[tuple[Row, dict[tuple[float, str], str]]]:
    """Each setting with its runs by rate and weights; of tables that share runs the first."""
    found: list[tuple[Row, dict[tuple[float, str], str]]] = []
    for row in rows(data):
        if row.method in ("pamal", *ONE_NETWORK):
            setting = row.without("lr", "lr_scaling", "average")._replace(name="")
            if setting not in [known for known, _ in found]:
                found.append((setting, {}))
            names = next(names for known, names in found if known == setting)
            names.setdefault((rate(data, row), row.weights), row.name)
    return found


def rate(data: str, row: Row) -> float:
    """With which Adam trains `row`."""
    scaled = row.method == "pamal" and row.options.get("lr_scaling") != "plain"
    return float(row.options.get("lr", PAPER)) * (MEMBERS[data] if scaled else 1)


def _measured(run: Group | None) -> dict[str, float]:
    return {split: run.records[0].hypervolume(split) if run else np.nan for split in SPLITS}


def table(found: pd.DataFrame) -> pd.DataFrame:
    """Of `runs`, by setting, weights and rate: mean ± deviation over seeds on each split; "not run"
    without records."""
    shown = found.groupby(["setting", "weights", "rate"], observed=True)[SPLITS].agg(_text)
    return shown.rename_axis(index={"rate": "rate of Adam"})


def _text(values: pd.Series) -> str:
    if not values.count():
        return "not run"
    return f"{values.mean():.4f}" + (f" ± {values.std():.4f}" if values.count() > 1 else "")
