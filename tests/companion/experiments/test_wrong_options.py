"""A parameter that no run could use is refused in one line that names it, whatever page has it."""

import math

import pytest

from pamal_companion.demos.schematics import SchematicsOptions
from pamal_companion.demos.theory import TheoryOptions
from pamal_companion.experiments.ablations import MultiForwardOptions, SamplingOptions, SweepOptions
from pamal_companion.experiments.census import CensusOptions
from pamal_companion.experiments.cityscapes import CityScapesOptions
from pamal_companion.experiments.utkface import UTKFaceOptions
from pamal_companion.experiments.your_model import YourModelOptions
from pamal_companion.runs.methods import METHODS
from pamal_companion.runs.options import Options
from pamal_companion.toy.ablation import BalancingOptions
from pamal_companion.toy.run import ToyOptions
from pamal_core.errors import InputError

UNFIT = {
    Options: [
        ({"W": 0}, "`W` must be greater than or equal to 1. Found W=0."),
        ({"W": "three"}, "`W` must be a valid integer. Found W='three'."),
        ({"lam": -1}, "`lam` must be greater than or equal to 0. Found lam=-1."),
        ({"lam": math.nan}, "`lam` must be a finite number. Found lam=nan."),
        ({"W": 1, "lam": 5.0}, "`W` must be at least 2 when `lam` > 0. Found W=1, lam=5.0."),
        ({"p": -1}, "`p` must be greater than or equal to 0. Found p=-1."),
        ({"method": "foo"}, "`method` must be one of pamal, ls, stl, uw, dwa, rlw, mgda,"),
        ({"data": "true"}, "`data` must be 'auto', 'sample' or 'full'. Found data='true'."),
        ({"lamda": 1}, "Unknown parameter `lamda`. Known: method, task, W, lam, p,"),
        ({"W": 0, "lam": -2}, "`W` must be greater than or equal to 1. Found W=0. `lam` must be "),
        # What would be ignored.
        ({"method": "ls", "grid": "arc"}, "ls has no `grid`. Found grid='arc'."),
        ({"method": "uw", "shared_epochs": 2}, "uw has no `shared_epochs`"),
        ({"method": "pamal", "chunk": 9}, "pamal has no `chunk`. Found chunk=9."),
        ({"method": "stl", "weights": [1.0, 0.0]}, "stl has no `weights`."),
        ({"method": "mgda", "c": 0.1}, "mgda has no `c`. Found c=0.1."),
        ({"history": 9}, "`history` needs `balancing` loss. Found history=9, balancing='none'."),
        ({"history": 9, "balancing": "gradient"}, "`history` needs `balancing` loss."),
        ({"balancing_form": "released"}, "`balancing_form` needs `balancing` loss or gradient."),
        ({"p": math.inf, "draws": "stratified"}, "`draws` of p=inf are all the centre."),
    ],
    CensusOptions: [
        *(({"tasks": wrong}, "`tasks` must") for wrong in ("age,age", "age,height", 3, [1, 2], "")),
        ({"tasks": "age"}, "`tasks` must have at least 2 items. Found tasks='age'."),
        ({"tasks": ("age", "age")}, "`tasks` must have at least 2 items. Found tasks=("),
        *(({n: 10**18}, f"`{n}` must be less than 10000000") for n in ("seed", "draw", "epochs")),
    ],
    UTKFaceOptions: [
        ({"size": "48"}, "`size` must be a multiple of 32. Found size=48."),
        ({"size": 48}, "`size` must be a multiple of 32. Found size=48."),
        ({"split": "50/50"}, "`split` must be '70/10/20' or 'paper'. Found split='50/50'."),
        ({"limit": 1}, "`limit` must be greater than or equal to 2. Found limit=1."),
    ],
    CityScapesOptions: [
        ({"setting": "III"}, "`setting` must be 'II' or 'I'. Found setting='III'."),
        ({"depth_scaling": "add"}, "`depth_scaling` must be 'multiply' or 'divide'."),
    ],
    YourModelOptions: [
        ({"at_least": 1.5}, "`at_least` must be less than or equal to 1. Found at_least=1.5."),
        ({"method": "ls"}, "This notebook has no `method`. Known: seed, epochs, W, lam, p"),
        ({"out": "no/such/model.pt"}, "`out` must be a .pt file in a folder that exists. Found"),
        ({"out": "ls_seed_0.json"}, "`out` must be a .pt file"),  # of somebody else
        ({"out": "/proc/model.pt"}, "Could not write /proc/model.pt: "),
    ],
    MultiForwardOptions: [
        *(({"seeds": wrong}, "`seeds` must be") for wrong in ("a", "-1", "1.5", "")),
        ({"p": 0.5}, "This notebook has no `p`. Known: experiment, seeds"),
        ({"windows": "1"}, "`windows` must be two or more. Found windows=(1,)."),
        ({"windows": "2,2"}, "`windows` must be two or more. Found windows=(2, 2)."),
        ({"windows": ()}, "`windows` must have at least 1 item. Found windows=()."),
        ({"penalties": "ordered,reversed"}, "`penalties` must be 'ordered', 'printed'"),
    ],
    SamplingOptions: [
        ({"ps": "0,-1"}, "`ps` must be"),
        ({"ps": []}, "`ps` must have at least 1 item. Found ps=[]."),
        ({"lam": 1.0}, "`W` must be at least 2"),
    ],
    SweepOptions: [
        ({"methods": "phn,pamal"}, "`methods` must be 'phn' or 'cosmos'"),
        ({"lrs": "fast"}, "`lrs` must be a valid number"),
        ({"W": 2}, "This notebook has no `W`. Known: experiment, seeds, results"),
    ],
    BalancingOptions: [
        ({"W": 3}, "This notebook has no `W`. Known: seed, epochs, tanh"),
        ({"epochs": 0}, "`epochs` must be"),
        ({"scales": [1.0, 2.0]}, "`scales` must have at least 3 items. Found scales=[1.0, 2.0]."),
        ({"scales": [1.0] * 4}, "`scales` must have at most 3 items. Found scales=[1.0, 1.0,"),
        ({"scales": [1.0, 2.0, -1.0]}, "`scales` must"),
    ],
    ToyOptions: [
        ({"method": "stl"}, "`method` must be 'all', 'pamal', 'ls' or 'baselines'."),
        ({"balancing": "both"}, "`balancing` must be"),
        ({"tanh": "minus"}, "`tanh` must be 'printed' or 'earlier'. Found tanh='minus'."),
        ({"device": "cuda"}, "`device` must be 'auto' or 'cpu'. Found device='cuda'."),
        ({"lam": 2.0}, "`W` must be at least 2 when `lam` > 0. Found W=1, lam=2.0."),
        ({"batch_size": 8}, "This notebook has no `batch_size`. Known: method, balancing"),
        ({"task": 1}, "This notebook has no `task`."),
        ({"average": 0.9}, "This notebook has no `average`."),
        ({"scale": 1.0}, "Unknown parameter `scale`."),
    ],
    TheoryOptions: [
        ({"family": "cubic"}, "`family` must be 'blend', 'frequency' or 'tent'. Found"),
        ({"num_functions": 1}, "`num_functions` must be greater than or equal to 2. Found"),
        ({"pieces": 25}, "`pieces` must be less than or equal to 24. Found"),
        ({"epochs": 3}, "This notebook has no `epochs`. Known: family, num_functions, pieces, res"),
    ],
    SchematicsOptions: [
        ({"lam": 1.0}, "This notebook has no `lam`. Known: W, p, seed."),
        ({"W": 3}, "`W` must be greater than or equal to 4. Found W=3"),
    ],
}


@pytest.mark.parametrize(
    ("options", "values", "line"), [(o, *row) for o, rows in UNFIT.items() for row in rows]
)
def test_a_wrong_parameter_is_one_line(options, values, line):
    with pytest.raises(InputError) as error:
        options.create(**values)
    assert str(error.value).startswith(line) and "\n" not in str(error.value)
    assert error.value._render_traceback_() == [f"InputError: {error.value}"]


@pytest.mark.parametrize("method", METHODS)
def test_defaults_and_what_a_notebook_gives_are_fine_for_every_method(method):
    fields = Options.model_fields
    Options.create(**{n: f.default for n, f in fields.items()} | {"method": method})
    given = {"W": 4, "lam": 2.0, "p": 2.0, "balancing": "loss", "task": 1, "lr_scaling": "plain"}
    Options.create(**given, method=method)
