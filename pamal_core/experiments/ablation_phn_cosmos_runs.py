"""The runs of the sweeps of PHN and COSMOS, and of PaMaL beside them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pamal_core.data.splits import Splits
from pamal_core.errors import InputError
from pamal_core.experiments.ablation import subject
from pamal_core.runs.records import Record
from pamal_core.runs.sweep import file_name, sweep
from pamal_core.study.ablation_phn_cosmos import SweepOptions, settings


def runs(options: SweepOptions, *, progress: bool = True) -> tuple[dict[str, list[Record]], Splits]:
    """The records of each method, PaMaL's too, and the data they are of.

    The whole grids on full data, an excerpt and few epochs on the sample. Records in the folder
    `options.results` are read, others trained and kept there, or with `options.recorded` left out:
    InputError where a method has none. Census has the labels of the authors' code, as the paper's
    numbers do.
    """
    experiment, own = subject(options, sample_epochs=3)
    splits = experiment.load(own)
    chosen = _wanted(options, settings(options, excerpt=splits.is_sample))
    records = sweep(experiment, own, chosen, options.results, splits, progress=progress)
    methods = ("pamal", *options.methods)
    return {m: [r for r in records if r.method == m] for m in methods}, splits


def _wanted(options: SweepOptions, chosen: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    if not (options.recorded and options.results):
        return list(chosen)
    folder = Path(options.results)
    kept = [setting for setting in chosen if (folder / file_name(setting)).exists()]
    for method in ("pamal", *options.methods):
        if method not in [setting["method"] for setting in kept]:
            raise InputError(
                f"With `recorded` {folder} must have a record of {method}. Found none."
            )
    return kept
