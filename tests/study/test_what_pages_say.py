"""What the pages say in words is what the records say.

Numbers that stand in prose are recomputed here, most of them from the points of the records alone.
"""

import re

import numpy as np
import pytest
from notebook_text import conclusion, page, passage, readme, section
from scipy.stats import spearmanr

from pamal_core.runs import grid
from pamal_core.study import claims, comparisons, frame, paper, sweeps, tables
from pamal_core.study.frame import RESULTS, Setting, groups, select, union, volume
from pamal_core.study.paper import table

OURS = "PaMaL, W = 4, λ = 0"
STRATIFIED = f"{OURS}, stratified draws"


def notebook(name):
    return (grid.ROOT / "notebooks" / f"{name}.ipynb").read_text("utf-8")


# W times lambda, and the draws of alpha.


@pytest.mark.parametrize("name", ["Census", "MultiMNIST"])
def test_the_means_quoted_in_the_notebook_are_those_of_the_records(name, runs):
    whole = notebook("ablation_sampling")
    data, text = name.lower(), re.search(rf"On full {name} \(.*?(?=On full|\Z)", whole, re.S)[0]
    for p in (0.0, 0.1, 1.0, 100.0):
        usual = "" if data == "multimnist" else "; lam=0"
        found = [*runs[select(f"{data}/pamal W=1; p={p}{usual}")].values()]
        cosines = np.array([record.summary["member_similarity"] for record in found])
        assert f"{abs(cosines.mean()):.2f}" in text
        assert np.abs(cosines - cosines.mean()).max() < 0.02
        best = np.mean([list(r.summary["test"]["best"].values()) for r in found], axis=0)
        middle = np.mean([r.front("test").values[5] for r in found], axis=0)
        if data == "census" and p in (0.1, 100.0):
            assert all(f"{value:.4f}" in text for value in best)
        if p == 0.0 or (data == "multimnist" and p != 1.0):
            assert all(f"{value:.3f}" in text for value in middle)
        volumes = [r.summary["test"]["hypervolume"] for r in found]
        if data == "multimnist" and p > 0:
            assert f"{np.mean(volumes):.3f}" in text


def three_seeds(runs, data):
    """By (W, lambda, penalty) and seed: hypervolume, rank correlation and share of ordered pairs,
    from the points alone; and their means over seeds."""
    found = {}
    for setting, by_seed in runs.items():
        at = setting.values["W"], setting.values["lam"], sweeps.penalty(setting)
        if (
            (setting.experiment, setting.method) == (data, "pamal")
            and {name for name, _ in setting.options} <= {"W", "lam", "penalty", "skip"}
            and at[2] in ("none", "ordered", "printed+as_released")
        ):
            fronts = {seed: one.front() for seed, one in by_seed.items()}
            found[at] = {
                seed: np.array([front.hypervolume((0.0, 0.0)), *ordered_by_hand(front.on("loss"))])
                for seed, front in fronts.items()
            }
    assert len(found) == 29 and all(len(seeds) == 3 for seeds in found.values())
    return found, {at: np.mean([*seeds.values()], axis=0) for at, seeds in found.items()}


def ordered_by_hand(losses):
    correlations, shares = [], []
    for weight, loss in zip(losses.alphas.T, losses.values.T, strict=True):
        correlations.append(spearmanr(weight, loss).statistic)
        pairs = [(i, j) for i in range(11) for j in range(11) if weight[i] < weight[j]]
        shares.append(np.mean([loss[j] < loss[i] for i, j in pairs]))
    return np.mean(correlations), np.mean(shares)


def effect(found, penalty, lam):
    """What `penalty` adds to each measure, by seed, and what there is with it: means over W."""
    with_it = [found[W, lam, penalty] for W in (2, 3, 4, 5)]
    without = [found[W, 0.0, "none"] for W in (2, 3, 4, 5)]
    seeds = sorted(set.intersection(*map(set, with_it + without)))
    there = np.mean([[runs[s] for s in seeds] for runs in with_it], axis=0)
    return there - np.mean([[runs[s] for s in seeds] for runs in without], axis=0), there


def beside_the_printed_table(data, means):
    """How far the means of the 16 settings are from the paper's, their rank correlation, and the
    best of ours."""
    printed = table(f"multiforward_{data}").set_index(["W", "lam"])["mean"]
    names = ["printed+as_released" if lam else "none" for _, lam in printed.index]
    settings = [(W, float(lam), name) for (W, lam), name in zip(printed.index, names, strict=True)]
    ours = [means[at][0] for at in settings]
    rank = spearmanr(ours, printed).statistic
    return np.abs(ours - printed).mean(), rank, settings[int(np.argmax(ours))]


def test_what_the_notebook_says_of_census_is_what_the_records_say(runs):
    text, (found, means) = conclusion("ablation_multiforward"), three_seeds(runs, "census")
    distance, rank, _ = beside_the_printed_table("census", means)
    assert f"are {distance:.4f} from the paper's, in" in text
    assert f"order (rank correlation {rank:.2f})" in text
    alone = [means[W, 0.0, "none"][0] for W in (1, 5)]
    assert "{:.4f} at W = 1, {:.4f} at W = 5".format(*alone) in text
    for penalty, words in {"ordered": "{:.4f} if it", "printed+as_released": "{:.4f} as"}.items():
        assert all((effect(found, penalty, lam)[0][:, 0] > 0).all() for lam in (2.0, 5.0, 10.0))
        assert words.format(effect(found, penalty, 10.0)[0][:, 0].mean()) in text
    none = np.mean([means[W, 0.0, "none"] for W in (2, 3, 4, 5)], axis=0)
    ordered, reverse = (
        effect(found, name, 10.0)[1].mean(0) for name in ("ordered", "printed+as_released")
    )
    assert f"{none[1]:.2f} without" in text
    assert f"is {ordered[1]:.2f} at" in text and f"and {reverse[1]:+.2f} with" in text
    assert f"{none[2]:.2f} without, is {ordered[2]:.2f} and {reverse[2]:.2f}" in text
    for penalty, sign in (("ordered", -1), ("printed+as_released", 1)):
        assert sign * means[2, 10.0, penalty][1] > 0.8 > sign * means[5, 10.0, penalty][1] + 0.4


def test_what_the_notebook_says_of_multimnist_is_what_the_records_say(runs):
    text, (found, means) = conclusion("ablation_multiforward"), three_seeds(runs, "multimnist")
    distance, rank, best = beside_the_printed_table("multimnist", means)
    assert f"are {distance:.4f} from the paper's (rank correlation {rank:.2f})" in text
    assert best == (4, 0.0, "none")
    alone = {W: means[W, 0.0, "none"][0] for W in (1, 2, 3, 4, 5)}
    assert f"{alone[1]:.4f} at W = 1, {alone[2]:.4f} at W = 2, 0.917 or" in text
    assert {f"{alone[W]:.3f}" for W in (3, 4, 5)} == {"0.917", "0.918"}
    as_printed = [effect(found, "printed+as_released", lam) for lam in (2.0, 5.0, 10.0)]
    assert all((difference[:, 0] < 0).all() for difference, _ in as_printed)
    lost, there = as_printed[-1][0].mean(0), as_printed[-1][1].mean(0)
    none = np.mean([means[W, 0.0, "none"] for W in (2, 3, 4, 5)], axis=0)
    assert f"by {-lost[0]:.4f} in the mean" in text and f"{none[1]:.2f} to {there[1]:+.2f}" in text
    ordered = effect(found, "ordered", 10.0)[1].mean(0)[1]
    assert f"becomes {ordered:.2f}" in text


def test_what_the_notebook_says_of_order_and_draws_on_multimnist(runs):
    """By the number of draws: two, three and more, five."""
    text, (found, every) = conclusion("ablation_multiforward"), three_seeds(runs, "multimnist")
    gains = {
        W: [found[W, 10.0, "ordered"][s][0] - found[W, 0.0, "none"][s][0] for s in range(3)]
        for W in (2, 3, 4, 5)
    }
    many = np.mean([gains[W] for W in (3, 4, 5)], axis=0)
    assert f"{many.mean():+.4f} at" in text and many.min() < 0 < many.max()
    assert f"{np.mean(gains[5]):.4f} in the mean:" in text and min(gains[5]) > 0
    means = {at: mean[0] for at, mean in every.items()}
    assert max(means, key=means.__getitem__) == (5, 10.0, "ordered")
    assert f"{means[5, 10.0, 'ordered']:.4f}, the best of all 29" in text
    two = [means[2, 10.0, name] for name in ("ordered", "printed+as_released")]
    assert "{:.3f} in order and {:.3f} as printed".format(*two) in text
    assert f"{means[2, 0.0, 'none']:.3f} without" in text


def test_the_hypervolumes_quoted_in_the_notebook_are_those_of_the_records(runs):
    text = notebook("ablation_multiforward")
    signs = ("", "; penalty=printed; skip=as_released")
    kept = [runs[select(f"census/pamal W=2; lam=5{sign}")][0] for sign in signs]
    for found in kept:
        assert f"{found.summary['validation']['hypervolume']:.4f}" in text


# Beyond the paper.


def test_the_runs_took_the_hours_that_the_page_says(runs):
    rows = {run.records: run for run in grid.by_record().values()}.values()
    extras = [run for run in rows if any(name.startswith("beyond/") for name in run.records)]
    records = [runs[frame.of(run)][run.seed] for run in extras if run.is_done(RESULTS)]
    hours = sum(one.seconds for one in records) / 3600
    assert int(hours) == 6 and "more than six hours" in passage("beyond", "b00")


def test_what_the_page_beyond_the_paper_says_is_what_the_records_say(runs):
    text = notebook("beyond").replace('\\n",\n    "', " ")
    for data, (start, end) in {
        "multimnist": ("", "## Census"),
        "census": ("## Census", "## The learning rate"),
    }.items():
        part = text[text.index(start) : text.index(end)]
        rivals = [groups(runs, [Setting(data, m)]) for m in paper.ONE_NETWORK]
        ours = mean(groups(runs, [Setting(data, "pamal")]))
        ahead = [ours - mean(found) for found in rivals if len(found) == 3]
        assert f"by {min(ahead):.3f} to {max(ahead):.3f} in the mean" in part
        tricks = comparisons.tricks(data, runs)
        with_mean, stratified = tricks.loc["PaMaL: stratified draws, both with the mean"].iloc[:2]
        assert f"{float(with_mean):.3f}" in part and f"{float(stratified):.3f}" in part
        wide = "PaMaL, W = 4, λ = 10: mean of the weights, 0.9997"
        if data == "census":
            last, averaged = tricks.loc[wide].iloc[:2]
            assert f"(0.9997): {averaged}, where" in part and f"weights have {last}," in part
            averaged = groups(runs, [select("census/pamal W=4; lam=10; average=0.9997")]).values()
            wrong = [55 * (1 - union(group).on("loss").ordered_pairs()) for group in averaged]
            assert "but for one pair" in part and np.sum(wrong) == pytest.approx(1)
    found = {data: comparisons.contenders(data, runs) for data in comparisons.RIVALS}
    multimnist, census = found["multimnist"], found["census"]
    better = "PaMaL, W = 4, λ = 0, stratified draws, mean of the weights, 0.99"
    assert above(multimnist["LS, 40 epochs"], multimnist["PaMaL, W = 4, λ = 0"])
    assert above(multimnist[better], multimnist["LS, 40 epochs"])
    assert above(multimnist["PaMaL, W = 4, λ = 0"], multimnist["LS, five runs of other weights"])
    longer = [mean(multimnist[f"{name}, 40 epochs"]) for name in ("UW", "DWA")]
    assert min(longer) > mean(multimnist["PaMaL, W = 4, λ = 0"])
    assert "too, with {:.3f} and {:.3f}.".format(*longer) in text
    long_mean = groups(runs, [select("multimnist/ls average=0.999")])
    assert f"more than it brings: {mean(multimnist['LS']) - mean(long_mean):.3f}" in text
    assert above(multimnist["LS, 40 epochs"], multimnist["LS, 40 epochs, batches of 1,024"])
    assert above(multimnist["LS, 40 epochs"], multimnist["LS, 40 epochs, lr = 0.002"])
    slow = census["LS, 20 epochs, lr = 0.0003"]
    assert mean(slow) > mean(census["LS"])
    assert abs(mean(slow) - mean(census["PaMaL, W = 2, λ = 5"])) < 2e-4
    for name in ("LS", "RLW", "Nash-MTL"):
        assert above(census[name], census[f"{name}, 20 epochs"])
    assert above(census["LS"], census["LS, 20 epochs, batches of 512"])
    short = groups(runs, [select("census/ls average=0.999")])
    assert above(short, census["LS, 20 epochs, mean of the weights, 0.999"])
    level = [multimnist[name] for name in (better, "LS, 40 epochs, mean of the weights, 0.99")]
    means = [mean(runs) for runs in level]
    assert {f"{mean:.3f}" for mean in means} == {"0.932"} and min(means) > 0.930


def mean(by_seed):
    return np.mean([volume(group) for group in by_seed.values()])


def above(one, other):
    """Whether each seed of `one` has the larger hypervolume."""
    assert set(one) == set(other) == {0, 1, 2}
    return all(volume(one[seed]) > volume(other[seed]) for seed in one)


# Choices.


def of_pairs(table, rows):
    """What `table` has for each pair that is measured, by its first setting and the option."""
    pairs = zip(rows, table.iterrows(), strict=True)
    return {(row["setting"], row["option"]): cells for row, (_, cells) in pairs if cells["seeds"]}


def by_seed(cells):
    return np.array(cells["by seed"].split(", "), float)


def test_what_the_page_of_choices_says_is_what_the_records_say(runs):
    text, rows = notebook("choices"), grid.read("choices")
    volumes = of_pairs(comparisons.choices(runs), rows)
    ours = [row for row in rows if row["runs"].startswith("PaMaL")]
    orders = of_pairs(comparisons.choices(runs, "order", "pamal"), ours)
    census, digits, three = "census/pamal", "multimnist/pamal", "multimnist3/pamal"
    sign, plain = (census, "penalty"), "lr_scaling"
    assert np.abs(by_seed(volumes[sign])).max() < 0.002 and by_seed(orders[sign]).min() > 1
    skip = [runs[select(f"{census} penalty=printed{o}")] for o in ("", "; skip=as_released")]
    never, as_released = ([by[s].points for s in range(3)] for by in skip)
    assert never == as_released
    balancing = [r["other"] for r in rows if (r["setting"], r["option"]) == (census, "balancing")]
    assert balancing == ["loss", "gradient"]
    both = {
        name: [
            (one, two) for row, one, two in zip(rows, *tables, strict=True) if row["other"] == name
        ]
        for name, tables in {
            n: (
                [
                    by_seed(c) if c["seeds"] else None
                    for _, c in comparisons.choices(runs).iterrows()
                ],
                [c for _, c in comparisons.choices(runs, "order").iterrows()],
            )
            for n in balancing
        }.items()
    }
    for found in both.values():
        ((volume, order),) = found
        assert np.ptp(np.sign(volume)) == 2 and by_seed(order).min() > 0
        assert f"({float(order['other']):.2f}".replace("-", "\N{MINUS SIGN}") in text
    assert np.ptp(np.sign(by_seed(volumes[census, plain]))) == 2
    for name in balancing:
        form = by_seed(volumes[f"{census} balancing={name}", "balancing_form"])
        assert f"by {-form.max():.3f} to {-form.min():.3f}" in text
    for name in (digits, three):
        found = by_seed(volumes[name, plain])
        assert f"by {-found.max():.3f} to {-found.min():.3f}" in text
    for name in ("multimnist/ls", digits):
        offset, split = (by_seed(volumes[name, option]) for option in ("offset", "split"))
        assert f"{offset.min():.3f} to {offset.max():.3f}" in text
        assert f"{-split.max():.3f} to {-split.min():.3f}" in text
    default = volumes[digits, plain]["default"]
    others = [volumes[digits, option]["other"] for option in ("split", plain)]
    assert f"our defaults, {default}" in text
    assert "we have {} and with the learning rate of its code {},".format(*others) in text
    printed = table("multiforward_multimnist").set_index(["W", "lam"]).loc[(4, 0)]
    assert f"{printed['mean']:.4f}" in text
    away = [(printed["mean"] - float(other)) / printed["std"] for other in others]
    assert [int(deviations) for deviations in away] == [4, 5]
    for name in (three, census):
        assert by_seed(orders[name, plain]).max() < 0
    assert (by_seed(orders[digits, plain]) < 0).sum() == 2
    for name, sign in (("loss", -1), ("gradient", 1)):
        released = orders[f"{census} balancing={name}", "balancing_form"]
        assert f"({float(released['other']):.2f}".replace("-", "\N{MINUS SIGN}") in text
        assert (sign * by_seed(released) > 0).all()
    for name, who in {census: "PaMaL", "census/ls": "LS"}.items():
        labels = -by_seed(volumes[name, "masters"])
        assert f"{labels.min():.3f} to {labels.max():.3f} to {who}" in text
    resize = by_seed(volumes[f"{three} lr_scaling=members", "antialias"])
    assert np.ptp(np.sign(resize)) == 2


# Rates.


def means(runs, data, label, weights="last"):
    """By rate the mean hypervolume on validation."""
    found = comparisons.rates(data, runs)
    chosen = found[(found.setting == label) & (found.weights == weights)]
    assert chosen.groupby("rate").validation.count().eq(3).all()
    return chosen.groupby("rate").validation.mean()


def at_rate(runs, data, label, weights, rate):
    """The hypervolumes on validation, by seed."""
    found = comparisons.rates(data, runs)
    at = (found.setting == label) & (found.weights == weights) & (found.rate == rate)
    volumes = found[at].set_index("seed").validation.sort_index()
    assert list(volumes.index) == [0, 1, 2] and volumes.notna().all()
    return volumes


def test_what_the_page_says_of_multimnist(runs):
    text, ours = section("beyond", "MultiMNIST: learning rates"), means(runs, "multimnist", OURS)
    one = {name: means(runs, "multimnist", name) for name in ("LS", "UW", "DWA")}
    assert f"over LS is {ours[2e-3] - one['LS'][1e-3]:.3f} here" in text
    lead = [f"{ours[rate] - one['LS'][rate]:.3f} at {rate}" for rate in (1e-3, 2e-3, 4e-3)]
    assert f"it is {lead[0]}, {lead[1]} and {lead[2]}, for" in text
    same, high = ([volumes[rate] for volumes in one.values()] for rate in (2e-3, 4e-3))
    assert f"are at {min(same):.3f} to {max(same):.3f}, where PaMaL has {ours[2e-3]:.3f}" in text
    assert f"{ours[4e-3]:.3f} with its ten epochs" in text and ours.idxmax() == 4e-3
    better = at_rate(runs, "multimnist", OURS, "last", 4e-3) > at_rate(
        runs, "multimnist", OURS, "last", 2e-3
    )
    assert better.all()
    assert f"gain less, to {min(high):.3f} to {max(high):.3f}" in text
    averaged = {name: means(runs, "multimnist", name, "mean, 0.99") for name in (OURS, "LS")}
    volumes = [averaged[name][4e-3] for name in (OURS, "LS")]
    assert "has {:.3f} at 0.004 and LS {:.3f}; with stratified draws".format(*volumes) in text
    for name, last in ((OURS, ours), ("LS", one["LS"])):
        gains = (averaged[name] - last).dropna()
        assert gains.is_monotonic_increasing and len(gains) > 2
    assert f"At 0.008 PaMaL falls to {ours[8e-3]:.3f} and LS to {one['LS'][8e-3]:.3f}." in text
    for name in (OURS, STRATIFIED, "LS"):
        assert means(runs, "multimnist", name, "mean, 0.99").idxmax() == 4e-3


def test_what_the_page_says_of_forty_epochs_of_one_network(runs):
    text = section("beyond", "MultiMNIST: learning rates")
    last, averaged = (means(runs, "multimnist", "LS, 40 epochs", w) for w in ("last", "mean, 0.99"))
    assert f"weights at 0.001, {last[1e-3]:.3f}." in text and last.idxmax() == 1e-3
    longer = at_rate(runs, "multimnist", "LS, 40 epochs", "last", 1e-3)
    ahead = longer > at_rate(runs, "multimnist", OURS, "last", 4e-3)
    assert (longer > at_rate(runs, "multimnist", OURS, "last", 2e-3)).all()
    assert longer.mean() > means(runs, "multimnist", OURS)[4e-3] and not ahead.all()
    assert f"its best is {averaged[2e-3]:.3f}, at 0.002;" in text and averaged.idxmax() == 2e-3
    ours = at_rate(runs, "multimnist", STRATIFIED, "mean, 0.99", 4e-3)
    assert f"besides, PaMaL has {ours.mean():.3f}." in text and f"PaMaL's {ours.mean():.3f}" in text
    for rate in averaged.index:
        assert (ours > at_rate(runs, "multimnist", "LS, 40 epochs", "mean, 0.99", rate)).all()
    independent = at_rate(runs, "multimnist", OURS, "mean, 0.99", 4e-3)
    rival = at_rate(runs, "multimnist", "LS, 40 epochs", "mean, 0.99", 2e-3)
    assert independent.mean() > rival.mean() and not (independent > rival).all()
    advice = section("beyond", "What to make of it")
    assert "with each seed only if its draws are stratified" in advice
    first = page("index")
    assert f"the front has {ours.mean():.3f}, where LS has {averaged.max():.3f}." in first
    cost = passage("beyond", "m00")
    assert (
        f"PaMaL has {ours.mean():.3f}, and LS for 40 epochs, averaged, {averaged.max():.3f}" in cost
    )


def test_what_the_page_says_of_multimnist3(runs):
    text = section("beyond", "MultiMNIST3: learning rates")
    ours = means(runs, "multimnist3", "PaMaL, W = 1, λ = 0")
    ls, uw = means(runs, "multimnist3", "LS"), means(runs, "multimnist3", "UW")
    assert abs(ours[1e-3] - ls[1e-3]) < 1e-3 and abs(uw[3e-3] - uw[1e-3]) < 1e-3
    assert f"at 0.003 PaMaL is {ours[3e-3] - ls[3e-3]:.3f} ahead" in text
    gained, all_of_it = ls[3e-3] - ls[1e-3], ours[3e-3] - ls[1e-3]
    assert f"Of the {all_of_it:.3f} between" in text and f", {gained:.3f} is what LS gains" in text


def test_what_the_page_says_of_census(runs):
    text = section("beyond", "Census: learning rates")
    ours = means(runs, "census", "PaMaL, W = 2, λ = 5")
    one = {name: means(runs, "census", name) for name in ("LS", "RLW", "Nash-MTL")}
    assert all(volumes.idxmax() == 3e-4 for volumes in one.values()) and ours.idxmax() == 6e-4
    gains = one["LS"][3e-4] - one["LS"][1e-3], ours[6e-4] - ours[2e-3]
    assert "LS gains {:.3f}, PaMaL {:.3f}.".format(*gains) in text
    assert f"it is {ours.max() - one['LS'].max():.3f} above LS" in text
    assert (
        0 < ours.max() - one["RLW"].max() < 1e-3 and 0 < ours.max() - one["Nash-MTL"].max() < 1e-3
    )
    assert f"LS overfits and falls {ours[2e-3] - one['LS'][2e-3]:.3f} below it" in text
    level = [
        means(runs, "census", name, "mean, 0.999").max() for name in (*one, "PaMaL, W = 2, λ = 5")
    ]
    assert f"between {min(level):.4f} and {max(level):.4f}" in text
    wide = means(runs, "census", "PaMaL, W = 4, λ = 10", "mean, 0.999")[6e-4]
    assert f"above them all, {wide:.4f}: more than the 0.660" in text and wide > 0.66 > max(level)
    twice, ten = (
        {which: means(runs, "census", name, which)[3e-4] for which in ("last", "mean, 0.999")}
        for name in ("LS, 20 epochs", "LS")
    )
    four = groups(runs, [select("census/ls epochs=40; lr=0.0003; average=0.999")])
    assert len(four) == 3
    often = np.mean([volume(group) for group in four.values()])
    averaged = twice["mean, 0.999"]
    assert f"LS ends at {averaged:.3f} after 20 epochs and at {often:.3f} after 40" in text
    cost = passage("beyond", "c00")
    assert f"keeps {twice['last']:.4f}, level with PaMaL, and {averaged:.4f} with a mean" in cost
    assert "ten epochs at that rate have {:.4f} and {:.4f};".format(*ten.values()) in cost
    assert f"40 epochs, with a mean, end at {often:.4f}." in cost
    longer = means(runs, "census", "PaMaL, W = 4, λ = 10", "mean, 0.9997")[6e-4]
    assert f"and costs {wide - longer:.3f}." in text
    both = means(runs, "census", "PaMaL, W = 4, λ = 10", "mean, 0.9993")[6e-4]
    assert f"keeps {both:.4f};" in text and both > 0.66
    orders = comparisons.order("census", runs).loc["PaMaL, W = 4, λ = 10, lr = 0.0003"]
    for weights, said in (
        ("mean, 0.999", "(rank correlations {:.2f} and {:.2f})"),
        ("mean, 0.9993", "(0.9993) mends that ({:.2f} and {:.2f})"),
        ("mean, 0.9997", "puts them in order ({:.2f} and {:.2f})"),
    ):
        assert said.format(*orders.loc[weights, ["age", "education"]].astype(float)) in text


def test_what_the_page_makes_of_it(runs):
    text = section("beyond", "What to make of it")
    data = {"multimnist": (OURS, 2e-3), "census": ("PaMaL, W = 2, λ = 5", 2e-3)}
    ours = {name: means(runs, name, label) for name, (label, _) in data.items()}
    ls = {name: means(runs, name, "LS") for name in data}
    paper = [ours[name][2e-3] - ls[name][1e-3] for name in data]
    best = [ours[name].max() - ls[name].max() for name in data]
    assert "by {:.3f} on MultiMNIST and {:.3f} on Census".format(*paper) in text
    assert "by {:.3f} and {:.3f} (W = 2, the last weights of all)".format(*best) in text
    assert "of LS for 40 epochs lies between others" in text
    for which in ("last", "mean, 0.99"):
        for name in (OURS, "LS", "LS, 40 epochs"):
            volumes = means(runs, "multimnist", name, which)
            assert volumes.index[0] < volumes.idxmax() < volumes.index[-1]


def test_what_the_first_page_says_of_it(runs):
    text = page("index")
    ours, ls = means(runs, "multimnist", OURS), means(runs, "multimnist", "LS")
    share = (ls[2e-3] - ls[1e-3]) / (ours[2e-3] - ls[1e-3])
    assert "makes up three quarters of" in text and share == pytest.approx(0.75, abs=0.02)
    lead = ours - ls
    assert f"stays ahead there, by {lead.min():.3f} to {lead.max():.3f}" in text


def test_what_the_page_beyond_the_paper_begins_with(runs):
    ours, ls = means(runs, "multimnist", OURS), means(runs, "multimnist", "LS")
    lead = ours - ls
    first, text = passage("beyond", "b00"), section("beyond", "The learning rate")
    assert "Most of PaMaL's lead at the paper's setting is the learning rate" in first
    assert "most of the lead at the paper's setting is the learning rate" in text
    assert f"still leads LS, by {lead.min():.3f} to {lead.max():.3f}." in text
    assert ls[2e-3] - ls[1e-3] > (ours[2e-3] - ls[1e-3]) / 2


# PHN and COSMOS.


def records(runs, data, method, lrs=(1e-3, 1e-4)):
    """Those of a sweep with seed 0, by setting."""
    keys, printed = paper.TABLES[f"{method}_{data}"].keys, sweeps.printed(f"{method}_{data}").index
    return {
        setting: {0: by_seed[0]}
        for setting, by_seed in runs.items()
        if (setting.experiment, setting.method) == (data, method)
        and tuple(setting.values[key] for key in keys) in printed
        and {name for name, _ in setting.options} <= {*keys}
        and setting.values["lr"] in lrs
        and 0 in by_seed
    }


def swept(runs, data, method):
    """The page's table of them."""
    return sweeps.swept(f"{method}_{data}", records(runs, data, method))


def test_what_the_notebook_says_of_cosmos_is_what_the_records_say(runs):
    text = conclusion("ablation_phn_cosmos")
    two, census = swept(runs, "multimnist", "cosmos"), swept(runs, "census", "cosmos")
    assert (len(two), len(census)) == (16, 48)
    assert f"`order` is {two.order.max():.2f} or lower" in text
    low, passing = two[two.spearman < -0.5], census[census.spearman < -0.5]
    assert f"{len(low)} of them have S < -0.5" in text
    assert f"{len(passing)} of 48 have S < -0.5, and {(passing.order < 0).sum()} of" in text
    paper = sweeps.printed("cosmos_multimnist").hypervolume
    more = two.hypervolume - paper
    assert (more > 0).all() and f"by {more.mean():.3f} in the mean" in text
    assert two.hypervolume.idxmax() == paper.idxmax() == (5.0, 1.0, 1e-3)
    best = census.loc[census.hypervolume.idxmax()]
    assert best.name[-1] == 1e-4 and f"{best.hypervolume:.4f}, more" in text
    assert f"S is {best.spearman:.2f} and `order` {best.order:.2f}" in text
    ours = runs[Setting("census", "pamal")][0].hypervolume()
    assert best.hypervolume > ours and f"PaMaL's {ours:.4f} with this seed" in text


def test_what_the_notebook_says_of_phn_on_census_is_what_the_records_say(runs):
    text, found = conclusion("ablation_phn_cosmos"), swept(runs, "census", "phn")
    quick, slow = found.xs(1e-3, level="lr"), found.xs(1e-4, level="lr")
    assert (len(quick), len(slow)) == (6, 14) and quick.spearman.isna().all()
    quickly = [by_seed[0] for by_seed in records(runs, "census", "phn", [1e-3]).values()]
    for record in (runs[Setting("census", "phn")][0], *quickly):
        front = record.front("validation").values
        assert (front == front[0]).all()
    assert f"At 0.0001 {(slow.order > 0).sum()} of 14 run the right way" in text
    low = slow[slow.spearman < -0.5]
    assert f"{len(low)} have S < -0.5, one of them backwards" in text and (low.order < 0).sum() == 1
    best, pamal = slow.hypervolume.max(), runs[Setting("census", "pamal")][0].hypervolume()
    assert found.hypervolume.max() == best < pamal
    assert f"is {best:.4f}, just below PaMaL's {pamal:.4f} with" in text
    paper = sweeps.printed("phn_census")
    for of, said in (
        (found, "costs {:.4f} and the stricter one {:.4f}"),
        (paper, "in the paper {:.4f} and {:.4f}"),
    ):
        volumes = sweeps.winners({"phn": of}).hypervolume.to_numpy()
        assert said.format(*(volumes[0] - volumes[1:])) in text
    apart = (found.hypervolume - paper.hypervolume).abs()
    assert f"are {apart.mean():.4f} from the paper's in the mean" in text
    order = found.hypervolume.corr(paper.hypervolume, method="spearman")
    assert f"in another order (rank correlation {order:.2f})" in text
    known = paper.xs(1e-3, level="lr").spearman
    assert known.notna().all() and (known == 0).sum() == 1


def test_what_the_notebook_says_of_phn_on_multimnist_is_what_the_records_say(runs):
    text, found = conclusion("ablation_phn_cosmos"), swept(runs, "multimnist", "phn")
    assert len(found) == 14 and (found.order > 0).all()
    assert f"and {(found.spearman < -0.5).sum()} have S" in text
    paper = sweeps.printed("phn_multimnist").hypervolume
    apart = (found.hypervolume - paper).abs()
    assert f"are {apart.mean():.3f} from the paper's in" in text
    assert apart.idxmax() == (1e-3, "linear", 1e-3) and f"solver {apart.max():.3f}." in text
    best = found.hypervolume.idxmax()
    assert best == (2.0, "linear", 1e-3)
    rivals = [one.hypervolume() for one in runs[select("multimnist/phn p=2")].values()]
    ours = [one.hypervolume() for one in runs[Setting("multimnist", "pamal")].values()]
    assert f"has {rivals[0]:.4f}, more than PaMaL's {ours[0]:.4f} with" in text
    assert f"best, {paper.max():.4f};" in text
    assert "has {:.4f} and {:.4f}, PaMaL {:.4f} and {:.4f}.".format(*rivals[1:], *ours[1:]) in text


# The page of reproductions.


def test_what_the_page_of_reproductions_begins_with(runs):
    counts, text = claims.table(runs)["verdict"].value_counts(), passage("reproduction", "c00")
    assert f"Of the paper's {counts.sum()} claims {counts['holds']} hold," in text
    assert f"{counts['holds in part']} hold in part and {counts['does not hold']} do not;" in text
    assert f"{counts['not run']} need runs that have not been made." in text
    assert f"and {counts.sum()} claims of the paper, each with a verdict" in readme()


def test_what_the_page_of_reproductions_says_is_not_reproduced(runs):
    found = {name: missed(runs, name) for name in ("multimnist", "census", "multimnist3")}
    digits, people, three = found.values()
    assert {method for method, _ in digits} == {"IMTL", "RLW", "Nash-MTL", "Auto-lambda"}
    assert {column for _, column in digits} == {"accuracy on top-left ↑"}
    low, high = -max(digits.values()), -min(digits.values())
    said = f"IMTL, RLW, Nash-MTL and Auto-lambda end {low:.3f} to {high:.3f} lower here"
    assert said in passage("reproduction", "c08")
    text, education = passage("reproduction", "c10"), "accuracy on education ↑"
    assert f"Nash-MTL is {people.pop(('Nash-MTL', education)):.3f} better on education" in text
    by_task = [-people.pop(("RotoGrad", f"accuracy on {task} ↑")) for task in ("age", "education")]
    assert "by {:.3f} on age and by {:.3f} on education".format(*by_task) in text and not people
    printed = tables.report("census", runs)["paper"].loc["RotoGrad"].iloc[:2].to_numpy()
    assert "worse than the paper's with every seed" in text
    for record in runs[Setting("census", "rotograd")].values():
        assert (record.front("test").values < printed).all()
    text, right = passage("reproduction", "c15"), "accuracy on top-right, % ↑"
    higher = [more for (method, column), more in three.items() if method != "RotoGrad"]
    assert {column for method, column in three if method != "RotoGrad"} == {right}
    assert len(higher) == 5 and f"end {min(higher):.1f} to {max(higher):.1f} points higher" in text
    assert np.mean([more for (method, _), more in three.items() if method == "RotoGrad"]) > 1.5


def test_what_the_page_of_reproductions_says_of_the_multi_forward_table(runs):
    text = passage("reproduction", "c12")
    digits, people = (tables.report(f"multiforward_{d}", runs) for d in ("multimnist", "census"))
    assert len(digits) == len(people) == 16 and (digits["verdict"] == "reproduced").all()
    (row,) = people.index[people["verdict"] == "not reproduced"]
    assert "All 16 settings are reproduced on MultiMNIST, and 15 of 16 on Census" in text
    assert f"the other one, W = 2 with λ = 10, is {-people['difference'][row]:.4f} lower" in text
    assert "W = 2, λ = 10" in row[0]


def missed(runs, name):
    """By method and column, ours minus the paper's where it is not reproduced."""
    found = tables.report(name, runs)
    return found["difference"][found["verdict"] == "not reproduced"].to_dict()


# Three tasks.


def test_what_the_page_of_multimnist3_says_of_its_members(runs):
    dominated = {}
    for seed, record in runs[Setting("multimnist3", "pamal")].items():
        front = record.front()
        steps, values = np.rint(10 * front.alphas).astype(int), front.values
        assert (steps[values.argmax(0)] < 10).all()
        assert steps[front.non_dominated()].max() <= 8
        for member in range(3):
            at = values[steps[:, member] == 10]
            better = ((values >= at).all(1) & (values > at).any(1)).sum()
            dominated.setdefault(seed, []).append(int(better))
            first = values[(steps[:, member] == 9)]
            assert len(first) == 2 and (first > at).all()
    text = passage("multimnist3", "triangles-text")
    assert "by {}, {} and {} mixtures".format(*dominated[0]) in text


def test_the_accuracies_quoted_on_the_page_of_multimnist3_are_those_of_the_records(runs):
    text, rate = passage("multimnist3", "paper-reading"), "lr_scaling=members"
    for setting in ("pamal", f"pamal {rate}", f"pamal {rate}; antialias=True", "ls"):
        found = runs[select(f"multimnist3/{setting}")].values()
        best = np.mean([record.front("test").values.max(0) for record in found], axis=0)
        assert "| {:.2f} | {:.2f} | {:.2f} |".format(*(100 * best)) in text
        if setting == "pamal":
            words = "are {:.2f}, {:.2f} and {:.2f} %".format(*(100 * best))
            assert words in passage("multimnist3", "title")


def test_the_mean_hypervolumes_that_pages_begin_with_are_those_of_the_records(runs):
    digits, people = (mean(groups(runs, [Setting(d, "pamal")])) for d in ("multimnist", "census"))
    assert f"have a validation hypervolume of {digits:.3f} in" in passage("multimnist", "title")
    assert f"have a validation hypervolume of {people:.4f} in" in passage("census", "title")
    assert f"Mean validation hypervolume over three seeds: {digits:.4f} measured" in readme()
    assert f"mean validation hypervolume of three seeds is {digits:.4f}" in page("index")


# Figure 4.


def test_how_many_runs_of_baselines_a_front_of_figure_4_leaves_undominated(runs):
    text, left = passage("reproduction", "f4"), {}
    for data in ("multimnist", "census"):
        theirs = {m: [*runs[Setting(data, m)].values()] for m in paper.ONE_NETWORK}
        points = {m: [r.front("test").values[0] for r in found] for m, found in theirs.items()}
        assert sum(map(len, points.values())) == 36
        for seed, ours in runs[Setting(data, "pamal")].items():
            front = ours.front("test").values
            above = {
                m: [bool((front > point).all(1).any()) for point in found]
                for m, found in points.items()
            }
            left[data, seed] = {m: f.count(False) for m, f in above.items() if not all(f)}
    assert [left["multimnist", seed] for seed in range(3)] == [{"uw": 3}, {}, {"uw": 3}]
    counts = [sum(left["census", seed].values()) for seed in range(3)]
    assert "leave {}, {} and {} of 36".format(*counts) in text
