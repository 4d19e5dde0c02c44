"""The explorer of a model with several inputs."""

from test_inputs import IDS, LENGTH, MASK, TASKS, TOPIC, Text

from pamal_companion.widgets import Explorer
from pamal_core import WeightEnsemble, evaluate


def test_the_explorer_asks_a_model_about_several_inputs():
    network = WeightEnsemble([Text(), Text()])
    loader = [((IDS, MASK), TOPIC, LENGTH)]
    front = evaluate(network, TASKS, loader, calibration=loader)
    some = {"ids": IDS[:3], "mask": MASK[:3]}
    args = (network, TASKS, front, some, TOPIC[:3], LENGTH[:3])
    explorer = Explorer(*args, loader=loader, calibration=loader)
    assert explorer.names == [f"{t} and {n:g}" for t, n in zip(TOPIC[:3], LENGTH[:3], strict=True)]
    assert explorer.pictures == [""] * 3 and len(explorer.predictions) == 3
