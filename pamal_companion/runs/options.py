"""The parameters of an experiment, checked before anything runs."""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import ModuleType
from typing import Annotated, Any, ClassVar, Literal, Self, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from pamal_companion.data.places import user_path
from pamal_companion.runs.files import named_record
from pamal_companion.runs.methods import METHODS, affects
from pamal_core.errors import InputError, check_choice

NonNegative = Annotated[float, Field(ge=0)]
Strength = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Natural = Annotated[int, Field(ge=0, lt=10**18)]  # what every reader of a record can hold
Count = Annotated[int, Field(ge=1, lt=10**18)]

SETTINGS = {"W", "lam", "p", "balancing", "task"}
"""The options that the paper varies. They count in a run's key, default or not."""

NOT_IDENTITY = {"method", "seed", "data", "data_root", "device", "compile", "out"}
"""The options that do not tell runs apart, or are fields of a record of their own."""

GIVEN = SETTINGS | {"lr_scaling"}
"""The options that the cells of notebooks give, whatever the method is."""

OF_DATA = {"data", "data_root", "offset", "split", "draw", "antialias", "masters", "tasks"}
OF_DATA |= {"size", "limit", "setting", "augment", "depth_scaling", "validation"}
"""The options that change the data."""

NOT_BUILT = {"epochs", "batch_size", "average", "batch_norm", "grid", "measure_training"}
NOT_BUILT |= {"precision"} | OF_DATA | NOT_IDENTITY
"""Options that change neither the method that is built nor its optimiser."""


Folder = Annotated[str, AfterValidator(lambda given: str(user_path(given, "results")))]
"""An option that is a folder for records, with the home folder for "~"."""


def _known(method: str) -> str:
    check_choice("method", method, list(METHODS))
    return method


def kind_of(data: str) -> Literal["full", "sample"]:
    """Return of which kind the data with the id `data` are."""
    return "sample" if data.split("/")[1:2] == ["sample"] else "full"


class Options(BaseModel):
    """What every experiment notebook takes; an experiment adds its own fields and changes defaults.

    The first value of each choice is the default; the choices the paper or the authors' code leave
    open are explained in `book/discrepancies`. `None` stands for the default: of `epochs`, the
    paper's number on full data and a small one on the sample; of `p` and `lam`, what the method's
    authors chose; of `weights`, equal ones. A run ends with its last weights, or for
    `average` above 0 with the mean over its steps, where a step counts `average` times the next.
    `known` are the names that a notebook takes, if not all. Beside the fields, `by_method` has the
    defaults of single methods, and `by_data` those that depend on whether the data are "full" or a
    "sample". `of_the_paper` is what the paper's runs have and our default is not. `title` and
    `task_names` are an experiment's in print.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, ser_json_inf_nan="strings")
    title: ClassVar[str] = ""
    task_names: ClassVar[tuple[str, ...]] = ()
    known: ClassVar[tuple[str, ...]] = ()
    # As the methods' own authors have them.
    by_method: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "phn": {"p": 0.2},
        "cosmos": {"p": 1.2, "lam": 2.0},
    }
    by_data: ClassVar[dict[str, dict[str, Any]]] = {"full": {}, "sample": {}}
    of_the_paper: ClassVar[Mapping[str, Any]] = {}

    method: Annotated[str, AfterValidator(_known)] = "pamal"
    task: Natural = 0  # that STL learns, from 0
    W: Count = 1  # draws of alpha a step
    lam: Strength = 0.0  # of the penalty
    p: NonNegative | list[NonNegative] = 1.0  # Dirichlet concentration
    p_first: Positive | None = None  # p at the start
    draws: Literal["independent", "stratified"] = "independent"
    weights: list[NonNegative] | None = None  # of the tasks in LS
    shared_epochs: Count | None = None  # of one network before the members
    rank: Count = 4  # of the adapters of low_rank
    train_base: bool = False  # whether low_rank trains what members share
    average: Annotated[float, Field(ge=0, lt=1)] = 0.0  # decay of averaged weights
    penalty: Literal["ordered", "printed"] = "ordered"
    edges: Literal["lex", "full"] = "lex"
    skip: Literal["never", "as_released"] = "never"
    balancing: Literal["none", "loss", "gradient"] = "none"
    balancing_form: Literal["paper", "released"] = "paper"
    history: Count = 25  # steps of loss balancing
    heads: Literal["plain", "balanced"] = "plain"
    c: Annotated[float, Field(ge=0, lt=1)] = 0.4  # radius of CAGrad
    temperature: Positive = 2.0  # of DWA
    steps_per_window: Count | None = None  # of DWA, an epoch by default
    solver: Literal["linear", "epo"] = "linear"
    chunk: Count | None = None  # weights PHN writes at a time
    grid: Literal["lattice", "arc", "sampled"] = "lattice"
    batch_norm: Literal["shared", "recalibrated", "both"] = "shared"
    measure_training: bool = False  # too, beside validation and test
    lr: Positive = 1e-3
    lr_scaling: Literal["members", "plain"] = "members"
    batch_size: Count = 256
    epochs: Count | None = None
    seed: Natural = 0
    data: Literal["auto", "sample", "full"] = "auto"
    data_root: str | None = None
    device: str = "auto"
    precision: Literal["float32", "bfloat16"] = "float32"
    compile: bool = False
    out: Annotated[str, AfterValidator(named_record)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Return the options without None, which a notebook's cell can hold and which says
        nothing."""
        given = {
            name: _number(value) if cls._takes_number(name) else value
            for name, value in values.items()
            if value is not None or name not in cls.model_fields
        }
        return {**cls.by_method.get(str(given.get("method", "pamal")), {}), **given}

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        """Refuse an option that would be ignored, but for its default and what notebooks give."""
        if self.known and (given := self.model_fields_set - {*self.known}):
            raise ValueError(
                f"This notebook has no `{min(given)}`. Known: {', '.join(self.known)}."
            )
        if self.method in ("pamal", "all") and self.lam > 0 and self.W < 2:
            raise ValueError(
                f"`W` must be at least 2 when `lam` > 0. Found W={self.W}, lam={self.lam}."
            )
        fields = type(self).model_fields
        changed = {n: v for n in fields if (v := getattr(self, n)) != fields[n].default}
        for name in changed.keys() & self.model_fields_set - GIVEN:
            if not affects(name, self.method):
                raise ValueError(f"{self.method} has no `{name}`. Found {name}={changed[name]!r}.")
        for name, needed in (("history", ("loss",)), ("balancing_form", ("loss", "gradient"))):
            if name in changed and self.balancing in {"none", "loss", "gradient"} - {*needed}:
                raise ValueError(
                    f"`{name}` needs `balancing` {' or '.join(needed)}. Found "
                    f"{name}={changed[name]!r}, balancing={self.balancing!r}."
                )
        if self.draws == "stratified" and self.p == float("inf"):
            raise ValueError("`draws` of p=inf are all the centre. Found draws='stratified'.")
        return self

    @classmethod
    def _takes_number(cls, name: str) -> bool:
        """Return whether an option is a number, or a list of numbers, and never a text."""
        kinds = _types(cls.model_fields[name].annotation) if name in cls.model_fields else set()
        return bool(kinds & {int, float}) and str not in kinds

    def of_method(self) -> dict[str, Any]:
        """Return every option of the method with its value, as a record has them; None is as the
        data have it."""
        return self._kept(self.method, json.loads(self.model_dump_json()))

    def identity(self) -> dict[str, Any]:
        """Return the options that count in the run's key: the paper's settings always, others where
        they differ from the default of their field, so that a new option never renames an old run.
        """
        usual, values = self._field_defaults(), self.of_method().items()
        return {name: v for name, v in values if name in SETTINGS or v != usual[name]}

    @classmethod
    def defaults_of(cls, method: str, data: str = "full") -> dict[str, Any]:
        """Return every option of `method` with its default on "full" data or a "sample"."""
        return cls._field_defaults() | cls.by_data[data] | dict(cls.by_method.get(method, {}))

    @classmethod
    def completed(cls, method: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return `options` of a record with those that it lacks: one that came later had the
        default of its field."""
        return cls._kept(method, cls._field_defaults()) | dict(options)

    @classmethod
    def _field_defaults(cls) -> dict[str, Any]:
        """Return the default of each field as a record would have it."""
        return json.loads(cls.model_construct().model_dump_json())

    @classmethod
    def _kept(cls, method: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return those of `values` that are options of runs of `method`."""
        names = [n for n in values if n not in NOT_IDENTITY and (not cls.known or n in cls.known)]
        return {name: values[name] for name in names if affects(name, method)}

    @classmethod
    def create(cls, **values: Any) -> Self:
        """Return the options with `values` for defaults; InputError in one line where one is
        wrong."""
        try:
            return cls(**values)
        except ValidationError as error:
            # A value that fits no member of a union has an error for each; the first will do.
            first = {details["loc"][:1]: details for details in reversed(error.errors())}
            raise InputError(" ".join(_explain(d, cls) for d in reversed(first.values()))) from None

    @classmethod
    def check_values(cls, values: Mapping[str, Any]) -> None:
        """Raise InputError, in one line, for a name that no option has, and for a value that the
        option cannot have with any method."""
        for name, value in values.items():
            if name not in cls.model_fields:
                raise InputError(_unknown(name, cls))
            field = cls.model_fields[name]
            kind: Any = Annotated[field.annotation, field]
            try:
                TypeAdapter(kind, config=ConfigDict(strict=True)).validate_python(value)
            except ValidationError as error:
                first = {**error.errors()[0], "loc": (name,)}
                raise InputError(_explain(first, cls)) from None

    @classmethod
    def from_notebook(cls, namespace: Mapping[str, Any]) -> Self:
        """Return the options that a notebook's `globals()` hold under their names, however they got
        there, and print them.

        Raise InputError for a name in a cell of parameters, a notebook's own or papermill's, that
        no option has: papermill would run on after it.
        """
        own = {*(cls.known or cls.model_fields)}
        bound = {n: v for n, v in namespace.items() if not _is_imported(n, v)}
        history = namespace.get("In", [])
        typed = {"In"}  # if a cell assigns this name, it hides the kernel's list of cells
        if isinstance(history, list):
            cells = [cell for cell in history if cell.startswith("# Parameters")]
            typed = set().union(*map(names_in, cells))
        taken = {n: v for n, v in bound.items() if n in own and v is not None}
        others = bound.keys() & (cls.model_fields.keys() - own)
        # Not a `method` that is a Method: another name than the option's, which this one lacks.
        wrong = {n for n in others if isinstance(bound[n], int | float | str | Sequence)}
        wrong |= bound.keys() & (typed - cls.model_fields.keys())
        try:
            options = cls.create(**taken, **{name: bound[name] for name in wrong})
        except InputError as error:
            if not wrong:
                raise
            forget = f"A kernel keeps a name: once it is mended, `del {', '.join(sorted(wrong))}`."
            raise InputError(f"{error} {forget}") from None
        shown = {n: _number(v) if cls._takes_number(n) else v for n, v in taken.items()}
        said = ", ".join(f"{name}={value!r}" for name, value in shown.items())
        print(f"Parameters: {said or 'all as by default'}.")
        return options


def _types(annotation: Any) -> set[Any]:
    """Return the types that an annotation is made of; a text among choices is one of str."""
    inner = get_args(annotation)
    if get_origin(annotation) is Literal:
        return {type(choice) for choice in inner}
    return set().union(*map(_types, inner)) if inner else {annotation}


def _number(value: Any) -> Any:
    """Return the number that a text spells, or numbers of a list: YAML 1.1, which papermill's `-y`
    reads, takes 1e-3 and inf for texts. Others stay as they are."""
    if isinstance(value, list | tuple):
        return type(value)(map(_number, value))
    if isinstance(value, str):
        for read in (int, float):
            with suppress(ValueError):
                return read(value)
    return value


def names_in(source: str) -> set[str]:
    """Return the names that a cell binds but for those that it imports or defines; none where it is
    no Python."""
    plain = re.sub(r"^[ \t]*[%!].*$", "", source, flags=re.MULTILINE)  # for IPython
    with suppress(SyntaxError):
        nodes = [*ast.walk(ast.parse(plain))]
        return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return set()


def _is_imported(name: str, value: Any) -> bool:
    """Return whether `name` is that of an import or a definition, which is no value."""
    is_named = callable(value) and getattr(value, "__name__", None) == name
    return is_named or isinstance(value, ModuleType)


def _explain(details: Any, options: type[Options]) -> str:
    """Return one sentence for one error of pydantic's."""
    if details["type"] == "value_error":
        return str(details["ctx"]["error"])
    name = str(details["loc"][0])
    if details["type"] == "extra_forbidden":
        return _unknown(name, options)
    # "Input should be 1" and "Tuple should have at least 2 items after validation, not 1".
    expected = re.sub(r"^\w+ should | after validation, not \d+$", "", details["msg"])
    return f"`{name}` must {expected}. Found {name}={details['input']!r}."


def _unknown(name: str, options: type[Options]) -> str:
    """Return the sentence on a name that is no option."""
    return f"Unknown parameter `{name}`. Known: {', '.join(options.known or options.model_fields)}."


def parse_value(text: str) -> Any:
    """Return the value of `-p NAME TEXT`, by papermill's rules: True, False, None, a number, or
    text."""
    for read in ({"True": True, "False": False, "None": None}.__getitem__, int, float):
        with suppress(KeyError, ValueError):
            return read(text)
    return text


def as_tuple(value: object) -> tuple[object, ...]:
    """Return a tuple of one value, of a list, or of one text with commas, as papermill passes it
    on."""
    if isinstance(value, str):
        return tuple(parse_value(part.strip()) for part in value.split(","))
    return tuple(value) if isinstance(value, list | tuple) else (value,)
