import pytest

from pamal_companion.experiments.ablations import SweepOptions
from pamal_companion.runs.options import Options
from pamal_core.errors import InputError


def test_a_window_of_one_is_fine_for_methods_without_a_penalty():
    assert Options.create(method="ls", W=1, lam=5.0).method == "ls"


def test_none_is_the_default_which_may_be_the_methods_own():
    for values in ({}, {"p": None, "lam": None}):
        assert Options.create(**values).p == 1.0
        assert Options.create(method="phn", **values).p == 0.2
        cosmos = Options.create(method="cosmos", **values)
        assert (cosmos.p, cosmos.lam) == (1.2, 2.0)
    assert Options.create(method="phn", p=0.5).p == 0.5
    assert Options.create(W=None, seed=None) == Options.create()
    assert "p" in Options.create(method="phn").model_dump(exclude_defaults=True)


@pytest.mark.parametrize(
    ("name", "text", "number"),
    [
        ("lr", "1e-3", 0.001),
        ("lr", "1E-3", 0.001),
        ("p", "inf", float("inf")),
        ("p", ["1e-1", 2.0], [0.1, 2.0]),
        ("average", "1e-1", 0.1),
        ("W", "3", 3),
        ("seed", "12", 12),
        ("epochs", "4", 4),
    ],
)
def test_a_number_that_yaml_reads_as_a_text_is_the_number(name, text, number, capsys):
    assert getattr(Options.create(**{name: text}), name) == number
    options = Options.from_notebook({name: text})
    assert getattr(options, name) == number
    assert f"{name}={number!r}" in capsys.readouterr().out


def test_numbers_in_a_list_are_taken_as_they_are_spelt():
    assert SweepOptions.create(lrs=["1e-3", "1e-2"]).lrs == (1e-3, 1e-2)
    assert SweepOptions.create(lrs="1e-3,1e-2").lrs == (1e-3, 1e-2)


@pytest.mark.parametrize(
    "given", [{"W": "1e-3"}, {"lr": "nan"}, {"lr": "fast"}, {"W": True}, {"compile": "1"}]
)
def test_a_text_that_is_no_number_of_the_option_is_refused(given):
    with pytest.raises(InputError, match="must be"):
        Options.create(**given)


def test_a_text_stays_a_text_where_an_option_is_one():
    assert Options.create(out="12").out == "12.json"
    assert Options.create(device="0").device == "0"
