"""The rewarded soup: one network, fine-tuned once for each task, and what lies between them."""

import copy
import json
from dataclasses import replace

import pytest
import torch
from tiny_experiment import tiny
from torch import nn

from pamal_companion.data.batches import batches
from pamal_companion.experiments.models import SharedBottom
from pamal_companion.runs.files import RunFiles
from pamal_companion.runs.options import Options
from pamal_companion.runs.records import Record
from pamal_companion.runs.run import run
from pamal_companion.study import frame
from pamal_core.errors import InputError
from pamal_core.training import seed_everything


def plain():
    """The tiny experiment without dropout and BatchNorm, whose training depends on no order."""

    def make_network(_options, _splits, extra):
        encoder = nn.Sequential(nn.Linear(4 + extra, 8), nn.ReLU())
        return SharedBottom(encoder, [nn.Linear(8, 2), nn.Linear(8, 2)])

    return replace(tiny(), make_network=make_network)


def options(**values):
    given = {"method": "soup", "shared_epochs": 2, "epochs": 5, "batch_size": 64, "device": "cpu"}
    return Options.create(**given | values)


def trained(model, weights, loader, epochs):
    """`model`, trained with torch alone on the weighted sum of both losses."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in epochs:
        seed_everything(0, epoch)
        for x, *targets in loader:
            outputs = model(x)
            losses = map(nn.functional.cross_entropy, outputs, targets)
            optimizer.zero_grad()
            sum(w * loss for w, loss in zip(weights, losses, strict=True)).backward()
            optimizer.step()
    return model


def test_the_corners_are_two_networks_fine_tuned_from_one_as_torch_does_it():
    experiment, chosen = plain(), options()
    splits = experiment.load(chosen)
    loader = batches(splits.train, 64, shuffle=True)
    seed_everything(0)
    one = trained(experiment.make_network(chosen, splits, 0), (0.5, 0.5), loader, (1, 2))
    network = run(experiment, chosen).network
    for corner, weights in (([1.0, 0.0], (0.9, 0.1)), ([0.0, 1.0], (0.1, 0.9))):
        by_hand = trained(copy.deepcopy(one), weights, loader, (3, 4, 5)).state_dict()
        for name, value in network.export(corner).state_dict().items():
            torch.testing.assert_close(value, by_hand[name], rtol=1e-4, atol=1e-6)


def test_the_record_has_every_epoch_and_the_front_between_the_members():
    record = run(tiny(), options(average=0.9)).record
    assert (record.method, record.options["shared_epochs"]) == ("soup", 2)
    assert len(record.history) == 5 and len(record.points) == 2 * 11
    similar = [row["member_similarity"] for row in record.history]
    assert similar[:2] == [None, None] and 0 < similar[4] < similar[2] < 1


@pytest.mark.parametrize("epoch", [1, 4])
def test_a_soup_that_was_stopped_goes_on_in_either_part(tmp_path, epoch, monkeypatch):
    whole = run(tiny(), options(out=str(tmp_path / "whole.json"))).record
    seen = iter(range(1, 100))

    def stop(_network):
        if next(seen) == epoch:
            raise KeyboardInterrupt
        return None

    with monkeypatch.context() as patch:
        patch.setattr("pamal_companion.runs.recorder.similarity", stop)
        with pytest.raises(KeyboardInterrupt):
            run(tiny(), options(out=str(tmp_path / "r.json")))
    files = RunFiles(tmp_path / "r.json")
    assert files.shared.checkpoint.exists() == (epoch == 4) and not files.record.exists()
    run(tiny(), options(out=str(files.record)))
    without = {"cost": None, "history": None}
    first, second = (r.model_dump() | without for r in (whole, Record.read(files.record)))
    assert json.dumps(first) == json.dumps(second)
    left = [path.suffix for path in tmp_path.glob("[!.]*")]
    assert sorted(left) == [".json", ".json", ".safetensors", ".safetensors"]


def test_half_of_the_epochs_are_shared_by_default_and_all_refused():
    with pytest.raises(
        InputError, match=r"`epochs` must be above `shared_epochs`, 5\. Found epochs=5"
    ):
        run(tiny(), options(shared_epochs=5))
    halves = [run(tiny(), options(shared_epochs=None, epochs=n)).record.options for n in (2, 5)]
    assert [found["shared_epochs"] for found in halves] == [1, 2]


def test_its_passes_are_those_of_the_shared_part_and_of_both_others():
    assert frame.select("multimnist/soup epochs=7; shared_epochs=4").passes == 4 + 2 * 3
    assert frame.select("census/soup epochs=30; shared_epochs=20").passes == 40


def test_balancing_is_no_option_of_the_network_that_a_soup_begins_with():
    found = [run(plain(), options(balancing=name)).record for name in ("none", "gradient")]
    assert found[0].key == found[1].key and found[0].points == found[1].points
