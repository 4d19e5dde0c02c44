"""What the learning rate does: Adam and an ensemble, the table, the figure, the text."""

import copy
from functools import cache

import numpy as np
import pytest
import torch
from commands_on_disk import record
from notebook_text import page, passage
from torch.nn.utils import parameters_to_vector

from pamal_core import WeightEnsemble
from pamal_core.plots.rates import rates_figure
from pamal_core.study import beyond, rates
from pamal_core.study.tables import RESULTS


def moved(optimiser, alpha):
    """How far the mixture at `alpha` of two equal members moves in one step of `optimiser`, in
    steps of one network with the same rate and the same gradient."""
    network = torch.nn.Linear(3, 1, dtype=torch.float64)
    ensemble = WeightEnsemble([network, copy.deepcopy(network)])
    at = torch.tensor(alpha, dtype=torch.float64)
    steps = []
    for trained, weights in (
        (network, lambda: parameters_to_vector(network.parameters())),
        (ensemble, lambda: ensemble.weights(at)),
    ):
        before = weights().detach().clone()
        step = optimiser(trained.parameters(), lr=0.01)
        (weights() * torch.linspace(0.5, 2, 4)).sum().backward()
        step.step()
        steps.append(weights().detach() - before)
    return steps[1] / steps[0]


@pytest.mark.parametrize("alpha", [(0.5, 0.5), (0.9, 0.1)])
def test_a_mixture_moves_under_adam_as_one_network_and_under_descent_by_less(alpha):
    ones = torch.ones(4, dtype=torch.float64)
    torch.testing.assert_close(moved(torch.optim.Adam, alpha), ones, atol=1e-6, rtol=0)
    descent = ones * np.square(alpha).sum()
    torch.testing.assert_close(moved(torch.optim.SGD, alpha), descent)


def test_the_rate_is_that_of_adam():
    row = beyond.Row("a", "pamal", {"lr": 0.002})
    assert rates.rate("census", row) == 0.004
    assert rates.rate("multimnist3", row.without("lr")) == pytest.approx(0.003)
    assert rates.rate("census", row._replace(options={"lr_scaling": "plain"})) == 0.001
    assert rates.rate("census", row._replace(method="ls")) == 0.002


def write(path, hypervolume):
    one = record()
    for split in rates.SPLITS:
        one.summary[split] = {"hypervolume": hypervolume}
    one.write(path)


def test_the_table_has_each_rate_once_and_says_what_is_not_run(tmp_path):
    for seed, value in enumerate((0.9, 0.8)):
        write(tmp_path / f"multimnist/ls_seed_{seed}.json", value)
    write(tmp_path / "beyond/multimnist/ls-lr=0.002_seed_0.json", 0.7)
    found = rates.runs("multimnist", tmp_path)
    table = rates.table(found)
    assert table.index.is_unique
    deviation = np.std([0.9, 0.8], ddof=1)
    assert table.loc[("LS", "last", 0.001), "validation"] == f"0.8500 ± {deviation:.4f}"
    assert table.loc[("LS", "last", 0.002), "validation"] == "0.7000"
    assert table.loc[("LS", "last", 0.004), "test"] == "not run"
    ax = rates_figure(found, ["last"], "here").axes[0]
    (line,) = [line for line in ax.lines if len(line.get_xdata()) == 2 and line.get_ls() == "-"]
    assert line.get_ydata().tolist() == pytest.approx([0.85, 0.7])


def test_the_legend_has_what_one_panel_alone_shows(tmp_path):
    for name in ("multimnist/ls", "beyond/multimnist/pamal-average"):
        write(tmp_path / f"{name}_seed_0.json", 0.9)
    found = rates.runs("multimnist", tmp_path)
    figure = rates_figure(found, ["last", "mean, 0.99"], "here")
    assert [len(ax.containers) for ax in figure.axes] == [1, 1]
    named = [text.get_text() for text in figure.legends[0].get_texts()]
    assert named == ["LS", "PaMaL, W = 4, λ = 0"]


@cache
def recorded(data):
    return rates.runs(data, RESULTS)


def means(data, label, weights="last"):
    """By rate the mean hypervolume on validation."""
    found = recorded(data)
    chosen = found[(found.setting == label) & (found.weights == weights)]
    assert chosen.groupby("rate").validation.count().eq(3).all()
    return chosen.groupby("rate").validation.mean()


def by_seed(data, label, weights, rate):
    """The hypervolumes on validation, by seed."""
    found = recorded(data)
    at = (found.setting == label) & (found.weights == weights) & (found.rate == rate)
    volumes = found[at].set_index("seed").validation.sort_index()
    assert list(volumes.index) == [0, 1, 2] and volumes.notna().all()
    return volumes


OURS = "PaMaL, W = 4, λ = 0"
STRATIFIED = f"{OURS}, stratified draws"


def test_what_the_page_says_of_multimnist():
    text, ours = passage("rates", "r03"), means("multimnist", OURS)
    one = {name: means("multimnist", name) for name in ("LS", "UW", "DWA")}
    assert f"over LS is {ours[2e-3] - one['LS'][1e-3]:.3f} here" in text
    lead = [f"{ours[rate] - one['LS'][rate]:.3f} at {rate}" for rate in (1e-3, 2e-3, 4e-3)]
    assert f"it is {lead[0]}, {lead[1]} and {lead[2]}, for" in text
    same, high = ([volumes[rate] for volumes in one.values()] for rate in (2e-3, 4e-3))
    assert f"are at {min(same):.3f} to {max(same):.3f}, where PaMaL has {ours[2e-3]:.3f}" in text
    assert f"{ours[4e-3]:.3f} with its ten epochs" in text and ours.idxmax() == 4e-3
    better = by_seed("multimnist", OURS, "last", 4e-3) > by_seed("multimnist", OURS, "last", 2e-3)
    assert better.all()
    assert f"gain less, to {min(high):.3f} to {max(high):.3f}" in text
    averaged = {name: means("multimnist", name, "mean, 0.99") for name in (OURS, "LS")}
    volumes = [averaged[name][4e-3] for name in (OURS, "LS")]
    assert "has {:.3f} at 0.004 and LS {:.3f}; with stratified draws".format(*volumes) in text
    for name, last in ((OURS, ours), ("LS", one["LS"])):
        gains = (averaged[name] - last).dropna()
        assert gains.is_monotonic_increasing and len(gains) > 2
    assert f"At 0.008 PaMaL falls to {ours[8e-3]:.3f} and LS to {one['LS'][8e-3]:.3f}." in text
    for name in (OURS, STRATIFIED, "LS"):
        assert means("multimnist", name, "mean, 0.99").idxmax() == 4e-3


def test_what_the_page_says_of_forty_epochs_of_one_network():
    text = passage("rates", "r03")
    last, averaged = (means("multimnist", "LS, 40 epochs", w) for w in ("last", "mean, 0.99"))
    assert f"weights at 0.001, {last[1e-3]:.3f}." in text and last.idxmax() == 1e-3
    longer = by_seed("multimnist", "LS, 40 epochs", "last", 1e-3)
    ahead = longer > by_seed("multimnist", OURS, "last", 4e-3)
    assert (longer > by_seed("multimnist", OURS, "last", 2e-3)).all()
    assert longer.mean() > means("multimnist", OURS)[4e-3] and not ahead.all()
    assert f"its best is {averaged[2e-3]:.3f}, at 0.002;" in text and averaged.idxmax() == 2e-3
    ours = by_seed("multimnist", STRATIFIED, "mean, 0.99", 4e-3)
    assert f"besides, PaMaL has {ours.mean():.3f}." in text and f"PaMaL's {ours.mean():.3f}" in text
    for rate in averaged.index:
        assert (ours > by_seed("multimnist", "LS, 40 epochs", "mean, 0.99", rate)).all()
    independent = by_seed("multimnist", OURS, "mean, 0.99", 4e-3)
    rival = by_seed("multimnist", "LS, 40 epochs", "mean, 0.99", 2e-3)
    assert independent.mean() > rival.mean() and not (independent > rival).all()
    assert "with each seed only if its draws are stratified" in passage("rates", "r12")
    first = page("index")
    assert f"the front has {ours.mean():.3f}, where LS has {averaged.max():.3f}." in first
    cost = passage("beyond", "m00")
    assert (
        f"PaMaL has {ours.mean():.3f}, and LS for 40 epochs, averaged, {averaged.max():.3f}" in cost
    )


def test_what_the_page_says_of_multimnist3():
    text, ours = passage("rates", "r06"), means("multimnist3", "PaMaL, W = 1, λ = 0")
    ls, uw = means("multimnist3", "LS"), means("multimnist3", "UW")
    assert abs(ours[1e-3] - ls[1e-3]) < 1e-3 and abs(uw[3e-3] - uw[1e-3]) < 1e-3
    assert f"at 0.003 PaMaL is {ours[3e-3] - ls[3e-3]:.3f} ahead" in text
    gained, all_of_it = ls[3e-3] - ls[1e-3], ours[3e-3] - ls[1e-3]
    assert f"Of the {all_of_it:.3f} between" in text and f", {gained:.3f} is what LS gains" in text


def test_what_the_page_says_of_census():
    text, ours = passage("rates", "r09"), means("census", "PaMaL, W = 2, λ = 5")
    one = {name: means("census", name) for name in ("LS", "RLW", "Nash-MTL")}
    assert all(volumes.idxmax() == 3e-4 for volumes in one.values()) and ours.idxmax() == 6e-4
    gains = one["LS"][3e-4] - one["LS"][1e-3], ours[6e-4] - ours[2e-3]
    assert "LS gains {:.3f}, PaMaL {:.3f}.".format(*gains) in text
    assert f"it is {ours.max() - one['LS'].max():.3f} above LS" in text
    assert (
        0 < ours.max() - one["RLW"].max() < 1e-3 and 0 < ours.max() - one["Nash-MTL"].max() < 1e-3
    )
    assert f"LS overfits and falls {ours[2e-3] - one['LS'][2e-3]:.3f} below it" in text
    level = [means("census", name, "mean, 0.999").max() for name in (*one, "PaMaL, W = 2, λ = 5")]
    assert f"between {min(level):.4f} and {max(level):.4f}" in text
    wide = means("census", "PaMaL, W = 4, λ = 10", "mean, 0.999")[6e-4]
    assert f"above them all, {wide:.4f}: more than the 0.660" in text and wide > 0.66 > max(level)
    twice, ten = (
        {which: means("census", name, which)[3e-4] for which in ("last", "mean, 0.999")}
        for name in ("LS, 20 epochs", "LS")
    )
    four = beyond.groups(RESULTS, "beyond/census/ls-40-epochs-lr=0.0003-average")
    assert len(four) == 3
    often = np.mean([group.hypervolume for group in four.values()])
    averaged = twice["mean, 0.999"]
    assert f"LS ends at {averaged:.3f} after 20 epochs and at {often:.3f} after 40" in text
    cost = passage("beyond", "c00")
    assert f"keeps {twice['last']:.4f}, level with PaMaL, and {averaged:.4f} with a mean" in cost
    assert "ten epochs at that rate have {:.4f} and {:.4f};".format(*ten.values()) in cost
    assert f"40 epochs, with a mean, end at {often:.4f}." in cost
    longer = means("census", "PaMaL, W = 4, λ = 10", "mean, 0.9997")[6e-4]
    assert f"and costs {wide - longer:.3f}." in text
    both = means("census", "PaMaL, W = 4, λ = 10", "mean, 0.9993")[6e-4]
    assert f"keeps {both:.4f};" in text and both > 0.66
    orders = beyond.order("census", RESULTS).loc["PaMaL, W = 4, λ = 10, lr = 0.0003"]
    for weights, said in (
        ("mean, 0.999", "(rank correlations {:.2f} and {:.2f})"),
        ("mean, 0.9993", "(0.9993) mends that ({:.2f} and {:.2f})"),
        ("mean, 0.9997", "puts them in order ({:.2f} and {:.2f})"),
    ):
        assert said.format(*orders.loc[weights, ["age", "education"]].astype(float)) in text


def test_what_the_page_makes_of_it():
    text = passage("rates", "r12")
    data = {"multimnist": (OURS, 2e-3), "census": ("PaMaL, W = 2, λ = 5", 2e-3)}
    ours = {name: means(name, label) for name, (label, _) in data.items()}
    ls = {name: means(name, "LS") for name in data}
    paper = [ours[name][2e-3] - ls[name][1e-3] for name in data]
    best = [ours[name].max() - ls[name].max() for name in data]
    assert "by {:.3f} on MultiMNIST and {:.3f} on Census".format(*paper) in text
    assert "by {:.3f} and {:.3f} (W = 2, the last weights of all)".format(*best) in text
    assert "of LS for 40 epochs lies between others" in text
    for which in ("last", "mean, 0.99"):
        for name in (OURS, "LS", "LS, 40 epochs"):
            volumes = means("multimnist", name, which)
            assert volumes.index[0] < volumes.idxmax() < volumes.index[-1]


def test_what_the_first_page_says_of_it():
    text = page("index")
    ours, ls = means("multimnist", OURS), means("multimnist", "LS")
    share = (ls[2e-3] - ls[1e-3]) / (ours[2e-3] - ls[1e-3])
    assert "makes up three quarters of" in text and share == pytest.approx(0.75, abs=0.02)
    lead = ours - ls
    assert f"stays ahead there, by {lead.min():.3f} to {lead.max():.3f}" in text
