import pytest

from pamal_companion.runs.methods import METHODS
from pamal_companion.runs.options import Options
from pamal_core.errors import InputError


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"W": 0}, "`W` must be greater than or equal to 1. Found W=0."),
        ({"W": "3"}, "`W` must be a valid integer. Found W='3'."),
        ({"W": True}, "`W` must be a valid integer. Found W=True."),
        ({"lam": -1}, "`lam` must be greater than or equal to 0. Found lam=-1."),
        ({"lam": float("nan")}, "`lam` must be a finite number. Found lam=nan."),
        ({"W": 1, "lam": 5.0}, "`W` must be at least 2 when `lam` > 0. Found W=1, lam=5.0."),
        ({"p": -1}, "`p` must be greater than or equal to 0. Found p=-1."),
        ({"method": "foo"}, "`method` must be one of pamal, ls, stl, uw, dwa, rlw, mgda,"),
        ({"data": "true"}, "`data` must be 'auto', 'sample' or 'full'. Found data='true'."),
        ({"epochs": 0}, "`epochs` must be greater than or equal to 1. Found epochs=0."),
        ({"seed": -1}, "`seed` must be greater than or equal to 0. Found seed=-1."),
        ({"lamda": 1}, "Unknown parameter `lamda`. Known: method, task, W, lam, p,"),
    ],
)
def test_each_wrong_parameter_gives_its_one_line(values, message):
    with pytest.raises(InputError) as error:
        Options.create(**values)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
    assert error.value._render_traceback_() == [f"InputError: {error.value}"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"method": "ls", "grid": "arc"}, "ls has no `grid`. Found grid='arc'."),
        ({"method": "pamal", "chunk": 9}, "pamal has no `chunk`. Found chunk=9."),
        ({"method": "stl", "weights": [1.0, 0.0]}, "stl has no `weights`."),
        ({"method": "mgda", "c": 0.1}, "mgda has no `c`. Found c=0.1."),
        ({"history": 9}, "`history` needs `balancing` loss. Found history=9, balancing='none'."),
        ({"history": 9, "balancing": "gradient"}, "`history` needs `balancing` loss."),
        ({"balancing_form": "released"}, "`balancing_form` needs `balancing` loss or gradient."),
        ({"p": float("inf"), "draws": "stratified"}, "`draws` of p=inf are all the centre."),
    ],
)
def test_an_option_that_would_be_ignored_is_refused(values, message):
    with pytest.raises(InputError) as error:
        Options.create(**values)
    assert str(error.value).startswith(message) and "\n" not in str(error.value)


@pytest.mark.parametrize("method", METHODS)
def test_defaults_and_what_a_notebook_gives_are_fine_for_every_method(method):
    fields = Options.model_fields
    Options.create(**{n: f.default for n, f in fields.items()} | {"method": method})
    given = {"W": 4, "lam": 2.0, "p": 2.0, "balancing": "loss", "task": 1, "lr_scaling": "plain"}
    Options.create(**given, method=method)


def test_two_wrong_parameters_are_both_named():
    with pytest.raises(InputError, match=r"`W` must be .* `lam` must be "):
        Options.create(W=0, lam=-2)


def test_numbers_that_papermill_reads_as_integers_are_taken():
    options = Options.create(lam=5, p=2, W=3)
    assert (options.lam, options.p) == (5.0, 2.0)


def test_a_window_of_one_is_fine_for_methods_without_a_penalty():
    assert Options.create(method="ls", W=1, lam=5.0).method == "ls"


def test_a_notebook_hands_over_what_its_parameter_cells_assigned():
    cells = ["", "# Parameters\nW = 4\nseed = 1", "# Parameters\nW = 2", "result = 5"]
    options = Options.from_notebook({"In": cells, "W": 2, "seed": 1, "result": 5, "lam": 7})
    assert (options.W, options.seed, options.lam) == (2, 1, 0.0)


def test_an_unknown_name_in_the_injected_cell_is_refused():
    cells = ["# Parameters\nW = 4", "# Parameters\nlamda = 2"]
    with pytest.raises(InputError, match="Unknown parameter `lamda`"):
        Options.from_notebook({"In": cells, "W": 4, "lamda": 2})


def test_none_is_the_default_which_may_be_the_methods_own():
    for values in ({}, {"p": None, "lam": None}):
        assert Options.create(**values).p == 1.0
        assert Options.create(method="phn", **values).p == 0.2
        cosmos = Options.create(method="cosmos", **values)
        assert (cosmos.p, cosmos.lam) == (1.2, 2.0)
    assert Options.create(method="phn", p=0.5).p == 0.5
    assert Options.create(W=None, seed=None) == Options.create()
    assert "p" in Options.create(method="phn").model_dump(exclude_defaults=True)
