"""Fairness as people do it with `fit`: a score of income, and its gap between two groups."""

import inspect
import re

import pytest
from torch.utils.data import DataLoader

import pamal_core as pamal
from pamal_companion.data import fairness
from pamal_companion.experiments.fairness import PRECISION, parity
from pamal_companion.experiments.models import OneScore


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "recipe",
    [{"epochs": 6}, {"epochs": 6, "start": 2}, {"epochs": 4, "start": 2, "soup": True}],
    ids=["plain", "start", "soup"],
)
def test_an_income_is_scored_with_a_small_gap_and_without_a_note(recipe):
    # ----
    people = fairness.load("sample")
    training = DataLoader(people.train, batch_size=128, shuffle=True)
    validation = DataLoader(people.validation, batch_size=500)
    tasks = [pamal.binary("income", metrics=[PRECISION]), parity("parity", "income")]
    width = people.train[0][0].shape[0]
    given = recipe | {"progress": False}
    fitted = pamal.fit(lambda: OneScore(width), tasks, training, validation, **given)
    model = fitted.export(best="income", at_most={"parity": 0.1})
    # ----
    assert not fitted.notes and type(model) is OneScore
    point = fitted.front.choose(best="income", at_most={"parity": 0.1})
    assert point.metrics["parity/gap"] <= 0.1
    assert fitted.front.ideal_point()["parity/gap"] < fitted.baselines["LS"].values[0, 1]
    source = inspect.getsource(test_an_income_is_scored_with_a_small_gap_and_without_a_note)
    (script,) = re.findall(r"    # -{4}\n(.*?)    # -{4}\n", source, re.DOTALL)
    assert len(script.splitlines()) <= 20
