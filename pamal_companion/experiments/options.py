"""The options of the paper's experiments, and every default that is not common to all. No torch."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BeforeValidator, Field, model_validator

from pamal_companion.runs.methods import METHODS
from pamal_companion.runs.options import (
    Count,
    Natural,
    NonNegative,
    Options,
    Positive,
    Strength,
    as_tuple,
    kind_of,
)

# In the order of the alphabet, as the labels are.
Question = Literal[
    "age", "dividends", "education", "full-year", "income", "joint-filer", "male", "never-married"
]
QUESTIONS: tuple[str, ...] = get_args(Question)
SWEEP = (0.1, 0.3, 0.5, 0.7, 0.9)
"""The weight of the first digit, in the sweeps of the dial of conflict."""
UNBALANCED: dict[str, dict[str, Any]] = {
    method: {"balancing": "none", **Options.by_method.get(method, {})}
    for method in METHODS
    if method != "pamal"
}
"""The defaults of methods where gradient balancing is PaMaL's alone."""


class MultiMNISTOptions(Options):
    """The common options with the paper's W = 4, the position of the second digit, whether
    validation shares its digits with training, as in the authors' code, and which draw of digits
    the images are composed of: the seed of the data, whatever `seed` trains on them. `bottleneck`
    is the number of features between encoder and heads, and `activation` what they pass through:
    behind a ReLU few features may all be 0 for every image, behind a LeakyReLU of slope 0.1 none
    is. `target` is the LeNet that PHN writes: the plain one, or that of the authors' code."""

    title = "MultiMNIST"
    task_names = ("top-left", "bottom-right")
    # More steps in smaller batches reach further than ten epochs of 256, in half of the time.
    by_data: ClassVar = {"full": {"epochs": 10}, "sample": {"epochs": 4, "batch_size": 64}}
    W: Count = 4
    offset: Literal[6, 8] = 6
    split: Literal["disjoint", "released"] = "disjoint"
    draw: Natural = 0
    bottleneck: Count = 50
    activation: Literal["relu", "leaky_relu"] = "relu"
    target: Literal["plain", "released"] = "plain"


class CensusOptions(Options):
    """The common options with the paper's W = 2 and lambda = 5, the tasks, and how Masters count.

    `tasks` may be given as one text with commas. Equal tasks are equal options, whatever their
    order. `draw` is the seed of the fifth of the training file that is for validation.
    """

    title = "Census"
    task_names = ("age", "education")
    # A head of two classes has no adapter of a higher rank.
    by_data: ClassVar = {data: {"epochs": 10, "rank": 2} for data in ("full", "sample")}
    of_the_paper: ClassVar = {"masters": "as_released"}
    W: Count = 2
    lam: Strength = 5.0
    tasks: Annotated[
        tuple[Question, ...],
        BeforeValidator(lambda given: tuple(sorted({*as_tuple(given)}, key=str))),
        Field(min_length=2),
    ] = ("age", "education")
    masters: Literal["mended", "as_released"] = "mended"
    draw: Natural = 0


class FairnessOptions(Options):
    """The common options, for income against the gap between women and men, on Census' rows.

    `draw` is the seed of the fifth of the training file that is for validation.
    """

    title = "Fairness"
    task_names = ("income", "parity")
    # A head of one logit has no adapter of a higher rank.
    by_data: ClassVar = {data: {"epochs": 6, "rank": 1} for data in ("full", "sample")}
    draw: Natural = 0

    @model_validator(mode="after")
    def _has_one_head(self) -> "FairnessOptions":
        if self.method == "rotograd":
            raise ValueError(
                "`method` must be another: RotoGrad rotates the features for the head of each "
                "task, and both tasks read one logit here. Found 'rotograd'."
            )
        return self


class MultiMNIST3Options(Options):
    """The common options, whose defaults are the paper's setting: one draw a step and no penalty.

    `antialias` smooths the image as it is scaled down: the authors' code does not, and the paper
    does not say. `draw` is the seed of the data, as for two digits, and `split` says whether
    validation shares its digits with training, as in the authors' code, which trains on 50,000
    images. `trained` is what RotoGrad trains: all, or "released" without the third head, which the
    optimiser of the authors' code does not have.
    """

    title = "MultiMNIST3"
    # In the order of the authors' code, which is that of the paper's table.
    task_names = ("top-left", "bottom", "top-right")
    by_data: ClassVar = {"full": {"epochs": 20}, "sample": {"epochs": 10}}
    of_the_paper: ClassVar = {"lr_scaling": "plain"}
    antialias: bool = False
    split: Literal["disjoint", "released"] = "disjoint"
    draw: Natural = 0
    trained: Literal["all", "released"] = "all"


class UTKFaceOptions(Options):
    """The common options with the row of the paper's table that its text is about: gradient
    balancing (of PaMaL; LS and STL have none in the table), W = 3 and p = 2; and the size of the
    network, the images and the training part.

    `width` is the number of channels of ResNet18's first stage and `size` the height and width of
    an image: 64 both, on the sample 16 and 32. `stem` is where ResNet18 begins, the authors' for
    small images or torchvision's. `limit` is the number of images trained on. The sample has the
    smaller stem, p = 0.2 and BatchNorm recalibrated for each alpha: a few hundred steps leave the
    corners of the triangle untrained otherwise.
    """

    title = "UTKFace"
    task_names = ("age", "gender", "ethnicity")
    by_data: ClassVar = {
        "full": {"epochs": 100, "rank": 2},  # the rank of a head of two classes
        "sample": {
            "epochs": 5,
            "rank": 2,
            "width": 16,
            "stem": "torchvision",
            "batch_size": 64,
            "p": 0.2,
            "batch_norm": "recalibrated",
        },
    }
    by_method: ClassVar = UNBALANCED
    W: Count = 3
    p: NonNegative | list[NonNegative] = 2.0
    balancing: Literal["none", "loss", "gradient"] = "gradient"
    width: Count = 64
    size: Annotated[int, Field(ge=32, multiple_of=32)] | None = None
    stem: Literal["released", "torchvision"] = "released"
    split: Literal["70/10/20", "paper"] = "70/10/20"
    limit: Annotated[int, Field(ge=2)] | None = None


class CityScapesOptions(Options):
    """The common options with the paper's setting: gradient balancing, W = 3, lambda = 1, p = 7,
    batches of 8 and a learning rate of 1e-4; and what `cityscapes.load` takes. LS and STL are
    balanced only if `balancing` says so.

    `width` is the number of channels of SegNet at full resolution, 64, on the sample 8. The sample
    also has p = 0.5 and BatchNorm recalibrated for each alpha: its 132 steps leave the ends of the
    segment untrained otherwise.
    """

    title = "CityScapes"
    task_names = ("segmentation", "depth")
    by_data: ClassVar = {
        "full": {"epochs": 100},
        "sample": {
            "epochs": 11,
            "width": 8,
            "batch_size": 20,
            "lr": 4e-3,
            "p": 0.5,
            "batch_norm": "recalibrated",
        },
    }
    by_method: ClassVar = UNBALANCED
    W: Count = 3
    lam: Strength = 1.0
    p: NonNegative | list[NonNegative] = 7.0
    balancing: Literal["none", "loss", "gradient"] = "gradient"
    lr: Positive = 1e-4
    batch_size: Count = 8
    setting: Literal["II", "I"] = "II"
    validation: Count | None = None
    augment: bool | None = None
    depth_scaling: Literal["multiply", "divide"] = "multiply"
    width: Count = 64
    limit: Count | None = None

    @model_validator(mode="after")
    def _has_scenes_to_validate_on(self) -> "CityScapesOptions":
        if self.setting == "I" and self.validation is not None:
            raise ValueError(f"Setting I has no `validation`. Found {self.validation}.")
        return self


class ToyOptions(Options):
    """The common options with the paper's settings; an epoch is 1,000 steps.

    "all" stands for every method and balancing the paper shows from all its points, "baselines" for
    every method that trains one network. Every value of `data` means the formula.
    """

    title = "toy problem"
    by_data: ClassVar = {"full": {"epochs": 50}, "sample": {"epochs": 50}}
    known: ClassVar = (
        *("method", "balancing", "W", "lam", "p", "draws", "penalty", "edges", "skip", "tanh"),
        *("balancing_form", "history", "weights", "lr", "lr_scaling", "epochs", "seed"),
        *("data", "data_root", "device", "out"),
    )
    method: Literal["all", "pamal", "ls", "baselines"] = "all"
    balancing: Literal["all", "none", "loss", "gradient"] = "all"  # type: ignore[assignment]
    tanh: Literal["printed", "earlier"] = "printed"
    lr: Positive = 2e-3
    lr_scaling: Literal["plain", "members"] = "plain"
    device: Literal["auto", "cpu"] = "auto"


OPTIONS: dict[str, type[Options]] = {
    "multimnist": MultiMNISTOptions,
    "census": CensusOptions,
    "multimnist3": MultiMNIST3Options,
    "utkface": UTKFaceOptions,
    "cityscapes": CityScapesOptions,
    "toy": ToyOptions,
    "fairness": FairnessOptions,
}
"""The options of each experiment by its name, in the paper's order, and then ours."""


def options_of(experiment: str) -> type[Options]:
    """Return the options of `experiment`, the common ones for one that is not ours."""
    return OPTIONS.get(experiment, Options)


def differing(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return those options of a run that are not the defaults of its method on its data; `about`
    are the fields of a record."""
    usual = options_of(about["experiment"]).defaults_of(about["method"], kind_of(about["data"]))
    return {name: v for name, v in about["options"].items() if usual.get(name, ...) != v}
