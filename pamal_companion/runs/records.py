"""Records: what a run was and what it measured, as one small text file. No torch here."""

import hashlib
import json
import os
import platform
import re
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
import pandas as pd
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from pamal_companion.data.atomic import write_atomic
from pamal_companion.fronts import hypervolume
from pamal_companion.runs.options import Options
from pamal_core.errors import InputError, is_number
from pamal_core.front import Front
from pamal_core.objectives import Objective

BETTER_HIGH = "accuracy", "mIoU", "pixel accuracy", "R2", "average precision", "right picks"
GAPS = "gap", "gap of positive answers", "gap in picks"
BETTER_LOW = "loss", "absolute error", "relative error", *GAPS
HIGHER = dict.fromkeys(BETTER_HIGH, True) | dict.fromkeys(BETTER_LOW, False)
"""For each metric of the experiments, whether higher is better: a record says it of objectives."""
ABOUT = ("experiment", "method", "options", "seed", "data")
"""The fields of a record that say what the run is."""


NUMBERS = {n for n, f in Options.model_fields.items() if type(f.default) in (int, float)} - {"p"}
NUMBERS |= {"epochs"}
"""The common options that are one number, which tables sort by and write."""


def _whole_number(text: str) -> int:
    if len(text) > 18:  # digits of what all who read it can hold
        raise ValueError(f"{text[:18]}... is too large a number")
    return int(text)


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    for name, value in options.items():
        if name in NUMBERS and not isinstance(value, int | float | None):
            raise ValueError(f"{name}: must be a number")
        each = value if isinstance(value, list | tuple) else [value]
        if not all(isinstance(one, int | float | str | None) for one in each):
            raise ValueError(f"{name}: must be a number, a text or a list of such")
    return options


def _are_whole(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    members: dict[str, int] = {}
    for point in points:
        if missing := {"alpha", "split", "metrics"} - point.keys():
            raise ValueError(f"{min(missing)}: Field required")
        alpha, split, metrics = point["alpha"], point["split"], point["metrics"]
        if not isinstance(split, str) or not isinstance(metrics, dict):
            raise ValueError("split must be a text, and metrics numbers by name")
        if not isinstance(alpha, list) or not all(map(is_number, alpha)):
            raise ValueError("alpha must be a list of numbers")
        if len(alpha) != members.setdefault(split, len(alpha)):
            raise ValueError(f"alphas of {split} have different lengths")
        if not all(isinstance(value, int | float | None) for value in metrics.values()):
            raise ValueError("metrics must be numbers")
    return points


class OfSplit(BaseModel):
    """What a summary may say of a split, beside other parts."""

    model_config = ConfigDict(strict=True)
    hypervolume: float | None = None
    competition: float | None = None
    best: dict[str, float | None] = {}
    spearman: dict[str, float | None] = {}


def _sums_up(summary: dict[str, Any]) -> dict[str, Any]:
    for name, part in summary.items():
        if isinstance(part, dict) and name != "member_similarity":
            try:
                OfSplit.model_validate(part)
            except ValidationError as error:
                where = ".".join(map(str, error.errors()[0]["loc"]))
                raise ValueError(f"{name}.{where}: must be a number, or numbers by name") from None
        elif not isinstance(part, int | float | None):
            raise ValueError(f"{name}: must be a number, or numbers by name")
    return summary


class About(BaseModel):
    """What a run is. `options` has every option of the method with its value."""

    experiment: str
    method: str
    options: Annotated[dict[str, Any], AfterValidator(_plain)]
    seed: int
    data: str

    @property
    def about(self) -> dict[str, Any]:
        """Return the fields that say what the run is."""
        return {name: getattr(self, name) for name in ABOUT}


class Record(About):
    """One run.

    `key` names the run; it counts only some of its options (`Options.identity`), so that a new
    option never renames old runs. Each point is
    {"alpha": [M], "split": name, "metrics": {"task/metric": value}}; `objectives` says which
    metrics are compared and in which direction. `history` has a row per epoch: the mean training
    loss of each task, and the smallest cosine between two members. `cost` is in seconds and bytes,
    `made_on` says where the run was made (`runs.devices.made_on`). Everything but these two is the
    same each time the run is made on one machine. In a file a checksum of all fields stands beside
    them.

    Records of older code have no `key`, no `made_on`, and of the options only those that count in
    the key.
    """

    model_config = ConfigDict(extra="forbid")

    key: str = ""
    objectives: Annotated[dict[str, Literal["max", "min"]], Field(min_length=1)]
    points: Annotated[list[dict[str, Any]], AfterValidator(_are_whole)]
    summary: Annotated[dict[str, Any], AfterValidator(_sums_up)]
    history: list[dict[str, Any]] = []
    cost: dict[str, float | None]
    versions: dict[str, str]
    made_on: dict[str, str | None] = {}

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        self.key = self.key or run_key(self.about)
        measured: dict[str, set[str]] = {}
        if not self.points and self.experiment != "toy":  # whose pairs may all have failed
            raise ValueError("points: there are none")
        for point in self.points:
            measured.setdefault(point["split"], set()).update(point["metrics"])
        for split, names in measured.items():
            if missing := self.objectives.keys() - names:
                raise ValueError(f"{split} has no {min(missing)}")
        return self

    @property
    def seconds(self) -> float:
        """Return the seconds of training and evaluation, 0 for a part that was not measured."""
        return sum(self.cost.get(part) or 0.0 for part in ("train_seconds", "evaluate_seconds"))

    def front(self, split: str = "validation") -> Front:
        """Return the points of one split as a front."""
        points = [point for point in self.points if point["split"] == split]
        table = pd.DataFrame([point["metrics"] for point in points])
        objectives = (Objective(name, way == "max") for name, way in self.objectives.items())
        names = [(name, name.rpartition("/")[2]) for name in table]
        metrics = (Objective(name, HIGHER[metric]) for name, metric in names if metric in HIGHER)
        alphas = np.array([point["alpha"] for point in points])
        return Front(alphas, table, tuple(objectives), metrics=tuple(metrics))

    def hypervolume(self, split: str = "validation") -> float:
        """Return the hypervolume of all points of `split`, from the reference of the experiment;
        higher is better. NaN where there is none: single-task learning, the toy problem."""
        value = self.part(split).get("hypervolume")
        return float("nan") if value is None else float(value)

    def part(self, split: str, name: str = "") -> Mapping[str, Any]:
        """Return what the summary says of `split`, or a part of that; empty where it is silent."""
        said = self.summary.get(split)
        if name and isinstance(said, Mapping):
            said = said.get(name)
        return said if isinstance(said, Mapping) else {}

    def write(self, path: Path) -> None:
        """Write as JSON, a line per field and per point, in one atomic step."""
        write_atomic(path, self.to_text().encode())

    def to_text(self) -> str:
        """Return the JSON text that `write` writes."""
        fields = self.model_dump(mode="json")
        if not self.made_on:  # of older code: its file stays what it was
            del fields["made_on"]
        fields["checksum"] = _digest(fields)
        texts = {name: json.dumps(value, allow_nan=False) for name, value in fields.items()}
        lines = ",\n    ".join(json.dumps(point, allow_nan=False) for point in fields["points"])
        texts["points"] = f"[\n    {lines}\n  ]"
        return "{\n  " + ",\n  ".join(f'"{name}": {text}' for name, text in texts.items()) + "\n}\n"

    @classmethod
    def find(cls, path: Path, key: str) -> "Record | None":
        """Return the record of run `key` in `path`, None where there is no file; InputError for
        others."""
        if not os.path.exists(path):  # of Path it raises where a name is too long
            return None
        found = cls.read(path)
        if found.key != key:
            raise InputError(
                f"{path} has the record of another run: {found.experiment}, {found.method}, "
                f"{found.options}, seed {found.seed}, {found.data}. "
                "Choose another `out`, or delete it."
            )
        return found

    @classmethod
    def read(cls, path: Path) -> "Record":
        """Return the record in `path`; InputError where the file is missing, damaged or something
        else."""
        fields: Any = None
        try:
            text = path.read_bytes()
            fields = json.loads(text, parse_int=_whole_number)
            if re.search(rb"\\u[dD][89a-fA-F]", text):  # half a character, which no file can hold
                json.dumps(fields, ensure_ascii=False).encode()
            checksum = fields.pop("checksum", None) if isinstance(fields, dict) else None
            expected = _digest(fields)
            record = cls.model_validate(fields)
        except OSError as error:
            raise InputError(f"Could not read the record {path}: {error.strerror}.") from None
        except (ValueError, RecursionError) as error:  # no JSON, no text, or not these fields
            what = f"the file: {error}"
            if isinstance(error, ValidationError):
                first = error.errors()[0]
                what = f"{'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}"
            raise InputError(
                _of_newer(path, fields) or f"{path} is not a whole record: {what}."
            ) from None
        if checksum != expected:
            raise InputError(
                _of_newer(path, fields)
                or f"{path} has changed since it was written, or is of another version. Expected "
                f"checksum {expected}, found {checksum}. Delete it to make the run again."
            )
        return record


def _of_newer(path: Path, fields: Any) -> str:
    """Return a sentence if the record in `path` was written by a newer version than this one, and
    else an empty text."""
    made_by = fields.get("versions", {}) if isinstance(fields, dict) else {}
    theirs = made_by.get("pamal-core", "") if isinstance(made_by, dict) else ""
    ours = versions().get("pamal-core", "")
    numbers = [re.findall(r"\d+", text) for text in (str(theirs), ours)]
    newer, older = ([*map(int, digits)] for digits in numbers)
    if not older or newer <= older:
        return ""
    return (
        f"{path} was written by version {theirs}. This is version {ours}: update it to read that."
    )


def versions() -> dict[str, str]:
    """Return what a record says of the software that made it."""
    found = {"python": platform.python_version()}
    for name in ("pamal-core", "torch", "numpy"):
        with suppress(PackageNotFoundError):  # our own, where it is run from its folder
            found[name] = version(name)
    return found


def about(experiment: str, options: Options, data: str) -> dict[str, Any]:
    """Return the fields of a record that say what a run with the resolved `options` is, and its
    key. Raise InputError for an option that no record can hold, before the run is made."""
    written = options.of_method()
    try:
        _plain(written)
    except ValueError as error:
        name, _, must = str(error).partition(": ")
        raise InputError(
            f"`{name}` {must}, because records hold no other options. Found {written[name]!r}."
        ) from None
    fields = {"experiment": experiment, "method": options.method, "seed": options.seed}
    fields |= {"options": options.identity(), "data": data}
    return fields | {"options": written, "key": run_key(fields)}


def variant_of(about: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the fields of a record of a run that is not what its options say, but a variant of
    this `name`: with the text of the notebook's cell that makes it, and a key of its own."""
    options = about["options"] | {"variant": name, "cell": _cell()}
    fields = {**about, "options": options}
    return fields | {"key": run_key(fields)}


def _cell() -> str:
    """Return the text of the cell that runs, empty outside of a notebook."""
    with suppress(ImportError):
        from IPython import get_ipython

        shell = get_ipython()
        if shell is not None:
            return str(shell.user_ns["In"][-1])
    return ""


def run_key(about: Mapping[str, Any]) -> str:
    """Return 16 hexadecimal digits that name the run with the fields `ABOUT`, in any order."""
    return _digest([about[name] for name in ABOUT])


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def to_points(fronts: Mapping[str, Front]) -> list[dict[str, Any]]:
    """Return the points of `fronts`, by their splits, as a record keeps them."""
    return [
        {"alpha": alpha, "split": split, "metrics": metrics}
        for split, front in fronts.items()
        for alpha, metrics in zip(
            front.alphas.tolist(), front.table.to_dict("records"), strict=True
        )
    ]


def summarise(fronts: Mapping[str, Front], reference: tuple[float, ...]) -> dict[str, Any]:
    """Return what a record says of `fronts`: per split what the paper reports, with the hypervolume
    from `reference`, null where tasks were left out; and on test the one network that has the
    highest mean of the scaled objectives on validation (`Front.choose`). The study chooses one by
    the measure that it compares (`measures.chosen`)."""
    validation = fronts["validation"]
    alpha = validation.choose(weights=[1] * len(validation.objectives)).alpha
    row = (fronts["test"].alphas == alpha).all(1).argmax()
    metrics = fronts["test"].table.iloc[row].to_dict()
    return {name: _describe(front, reference) for name, front in fronts.items()} | {
        "chosen_on_validation": {"alpha": alpha.tolist(), "test": metrics}
    }


def _describe(front: Front, reference: tuple[float, ...]) -> dict[str, Any]:
    has_losses = all(f"{one.task}/loss" in front.table for one in front.objectives)
    losses = front.on("loss").spearman() if has_losses else [float("nan")] * len(front.objectives)
    by_task = zip(front.objectives, front.spearman(), losses, strict=True)
    correlations = [((o.name, metric), (f"{o.task}/loss", loss)) for o, metric, loss in by_task]
    comparable = len(front.objectives) == len(reference)
    return {
        "hypervolume": hypervolume(front, reference) if comparable else None,
        "competition": _or_none(front.task_correlation()),
        "non_dominated": int(front.non_dominated().sum()),
        "spearman": {name: _or_none(value) for two in correlations for name, value in two},
        "best": front.ideal_point(),
    }


def _or_none(value: float) -> float | None:
    """Return `value`, or None for NaN, which JSON has not: an undefined correlation is null."""
    return None if value != value else value
