"""The short way to adapters, as the page shows it: members made by PEFT."""

import copy
import json
import re
import warnings
from pathlib import Path

import pytest
import torch
from torch import nn

import pamal_core as pamal
from pamal_companion.experiments.models import SharedBottom

PAGE = Path(__file__).parents[3] / "notebooks" / "from_what_you_have.ipynb"
CELLS = {cell["id"]: "".join(cell["source"]) for cell in json.loads(PAGE.read_text())["cells"]}


def test_members_of_peft_are_trained_mixed_and_exported_as_an_adapter(tmp_path, monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its dependencies
        peft = pytest.importorskip("peft", reason="needs the `test` extra")
    encoder = nn.Sequential(nn.Linear(64, 16), nn.ReLU())
    finished = SharedBottom(encoder, [nn.Linear(16, 10), nn.Linear(16, 2)]).eval()
    before = copy.deepcopy(finished.state_dict())
    x = torch.randn(32, 64)
    names = {
        "pamal": pamal,
        "finished": finished,
        "tasks": [pamal.classification("digit"), pamal.classification("even")],
        "training": [(x, torch.randint(10, (32,)), torch.randint(2, (32,)))] * 4,
    }
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", CELLS["c13"], re.DOTALL)
    exec(code, names)
    # What is finished stays as it is and is kept once, and an optimiser has the adapters alone.
    after = finished.state_dict()
    assert after.keys() == before.keys() and all(torch.equal(after[n], before[n]) for n in before)
    network = names["network"]
    trained = [name for name, weight in network.named_parameters() if weight.requires_grad]
    assert len(trained) == 6 and all("lora_" in name for name in trained)
    frozen = [w for w in network.parameters() if not w.requires_grad]
    assert sum(w.numel() for w in frozen) == sum(w.numel() for w in finished.parameters())
    loaded = peft.PeftModel.from_pretrained(copy.deepcopy(finished), "adapter")
    with torch.no_grad():
        outputs = loaded(x)
    for one, other in zip(outputs, network.predict(x, [0.3, 0.7]), strict=True):
        torch.testing.assert_close(one, other)
    assert not torch.equal(outputs[0], finished(x)[0])
