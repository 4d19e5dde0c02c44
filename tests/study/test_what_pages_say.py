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
from pamal_core.study.frame import Setting, groups, select, volume
from pamal_core.study.paper import table
from pamal_core.study.statistics import interval

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
            fronts = {seed: one.front() for seed, one in by_seed.items() if seed < 3}
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


SAYS = [
    # the page, a passage of it, and the finding that it rests on
    (
        "beyond b00",
        "PaMaL's front leads LS on MultiMNIST",
        "MultiMNIST, the paper's rates: PaMaL's",
    ),
    ("beyond b00", "take the front ahead of it", "equal passes: with stratified draws"),
    ("beyond m00", "undecided. After", "equal passes: one network of LS"),
    ("beyond m00", "undecided as well", "equal passes and steps"),
    ("beyond m00", "PaMaL is ahead of that network", "equal passes: with stratified draws"),
    ("beyond m00", "With a mean for LS as well neither is", "ahead of LS with a mean, too"),
    ("beyond m00", "at twice the learning rate the front is ahead", "each at its best rate with a"),
    ("beyond m04", "raises PaMaL's hypervolume", "a mean of the weights makes PaMaL better"),
    ("beyond m04", "costs more than it brings", "a mean over a thousand steps"),
    ("beyond c00", "overfit and are worse than after ten", "Census: twice the epochs make LS, RLW"),
    ("beyond c04", "PaMaL's front into order", "a mean of the weights brings the front's"),
    ("beyond cell-24", "ahead of LS at 0.002 and", "rate 0.002: PaMaL's front"),
    ("beyond cell-24", "at 0.004, for four times", "rate 0.004: PaMaL's front"),
    ("beyond cell-24", "at 0.001 that is undecided", "MultiMNIST, rate 0.001: PaMaL's front"),
    ("beyond cell-24", "PaMaL is better still", "twice the paper's rate: PaMaL is better"),
    ("beyond cell-27", "cannot be told apart", "MultiMNIST3, rate 0.001: PaMaL's front"),
    ("beyond cell-27", "at 0.003 PaMaL is ahead", "MultiMNIST3, rate 0.003"),
    ("beyond cell-30", "LS overfits and is below it", "Census, rate 0.002"),
    ("beyond cell-30", "Four draws with λ = 10 are ahead of LS", "W = 4, λ = 10 is ahead"),
    ("index", "is ahead of LS on MultiMNIST", "MultiMNIST, the paper's rates: PaMaL's"),
    ("index", "of LS on MultiMNIST and on Census", "Census, the paper's rates: PaMaL's front"),
    ("index", "At equal cost it is ahead on Census", "Census, equal passes: PaMaL's front"),
    ("index", "on MultiMNIST that is undecided", "equal passes: one network of LS"),
    ("index", "stays ahead of LS at 0.002 and", "MultiMNIST, rate 0.002: PaMaL's front"),
    ("index", "and at 0.004. At", "MultiMNIST, rate 0.004: PaMaL's front"),
    ("index", "0.001, that is undecided", "MultiMNIST, rate 0.001: PaMaL's front"),
    ("index", "takes the lead over LS at equal cost", "equal passes: with stratified draws"),
    ("index", "On Census twice the epochs make LS worse", "Census: twice the epochs make LS, RLW"),
    ("cityscapes methods-text", "larger than that of LS", "streets: PaMaL's front is ahead of LS"),
    ("cityscapes methods-text", "and of UW", "streets: PaMaL's front is ahead of UW"),
    ("cityscapes methods-text", "it cannot be told apart", "streets: the network of PaMaL chosen"),
]
UNSURE = ("undecided", "neither", "cannot be told apart")


@pytest.fixture(scope="module")
def findings(runs):
    found = claims.table(runs, claims.FINDINGS)
    return dict(zip(found["claim"], found["verdict"], strict=True))


@pytest.mark.parametrize(("where", "words", "finding"), SAYS, ids=str)
def test_what_a_page_says_is_no_stronger_than_its_interval(where, words, finding, findings):
    """What is said to be so holds; to be the other way round, fails; to be open, is undecided."""
    name, _, cell = where.partition(" ")
    assert words in (passage(name, cell) if cell else page(name))
    (word,) = {its for claim, its in findings.items() if finding in claim}
    behind = "behind" in words
    open_ = any(unsure in words for unsure in UNSURE)
    assert word == ("undecided" if open_ else "fails" if behind else "holds"), finding


def test_what_the_page_says_of_means_over_seeds(runs):
    def volume_of(setting, *others):
        found = groups(runs, [select(one) for one in (setting, *others)])
        return np.mean([volume([group[0]]) for group in found.values()])

    digits, longer = "multimnist/pamal", "multimnist/ls epochs=40"
    assert volume_of(longer, digits) > volume_of(digits, longer)
    batch = f"{longer}; batch_size=1024"
    assert volume_of(batch, digits) < volume_of(digits, batch)
    two, ls = "multimnist/ls lr=0.002", "multimnist/ls"
    lead = volume_of(digits, ls, two) - volume_of(ls, digits, two)
    assert volume_of(two, ls, digits) - volume_of(ls, digits, two) > lead / 2
    for name in ("beyond b00", "beyond cell-24", "index"):
        where, _, cell = name.partition(" ")
        text = passage(where, cell) if cell else page(where)
        assert re.search(r"[Mm]ore than half of", text), name
    stratified = f"{digits} draws=stratified; average=0.99"
    assert volume_of(stratified) > volume_of(f"{digits} average=0.99")
    for best, other in (
        (digits + " lr=0.002", digits + " lr=0.004"),
        (ls + " lr=0.004", ls + " lr=0.008"),
    ):
        assert volume_of(best) > volume_of(other)
    rates = {rate: volume_of(f"{longer}; lr={rate}") for rate in (0.0005, 0.001, 0.002, 0.004)}
    averaged = {rate: volume_of(f"{longer}; lr={rate}; average=0.99") for rate in rates}
    assert max(rates, key=rates.__getitem__) == 0.001
    assert max(averaged, key=averaged.__getitem__) == 0.002
    front = volume_of(f"{digits} draws=stratified; lr=0.002; average=0.99")
    assert front > max(*rates.values(), *averaged.values())
    three = [
        volume_of(f"multimnist3/{one}") for one in ("ls", "ls lr=0.003", "pamal lr_scaling=members")
    ]
    assert three[1] - three[0] > (three[2] - three[0]) / 2
    for method in ("ls", "rlw", "nash_mtl", "pamal"):
        usual, slow = f"census/{method}", f"census/{method} lr=0.0003"
        assert volume_of(slow, usual) > volume_of(usual, slow)
    wide = {
        text: volume_of(f"census/pamal{text}; average={mean}")
        for text, mean in ((" W=4; lam=10", 0.9997), (" draws=stratified", 0.999), (" W=2", 0.999))
    }
    assert max(wide, key=wide.__getitem__) == " W=4; lam=10"


def mean(by_seed):
    return np.mean([volume(group) for group in by_seed.values()])


# Choices.


def ends(setting, other, measure, runs):
    """Student's interval of what `other` adds to `setting` on validation, seed by seed."""
    one, two = (
        frame.measured(runs, select(text), measure, "validation") for text in (setting, other)
    )
    return interval((two - one).dropna().to_numpy())


def test_what_the_page_of_choices_says_is_what_the_records_say(runs):
    text = passage("choices", "choices-5") + passage("choices", "choices-8")
    census, digits, three = "census/pamal", "multimnist/pamal", "multimnist3/pamal"
    loss, gradient = (f"{census} balancing={name}" for name in ("loss", "gradient"))
    members = f"{three} lr_scaling=members"
    released = "balancing_form=released"
    undecided = {
        "leaves the hypervolume of Census where it is": (census, f"{census} penalty=printed"),
        "of losses or gradients makes no difference that is decided": (census, loss),
        "Census has losses of like scale": (census, gradient),
        "that of loss balancing is worse in the mean": (loss, f"{loss}; {released}"),
        "makes no difference on Census": (census, f"{census} lr_scaling=plain"),
        "is worth less than seeds differ": (members, f"{members}; antialias=True"),
    }
    for words, pair in undecided.items():
        low, high = ends(*pair, "hypervolume", runs)
        assert words in text and low < 0 < high, words
    lower = {
        "gradient balancing is worse than the paper's": (
            gradient,
            f"{gradient}; balancing_form=released",
        ),
        "It is better on MultiMNIST and": (digits, f"{digits} lr_scaling=plain"),
        "and on MultiMNIST3": (members, three),
        "moves Census by more than any method does": (f"{census} masters=mended", census),
        "moves Census": ("census/ls masters=mended", "census/ls"),
        "the digits overlap less": (f"{digits} offset=8", digits),
        "The place of the second digit": ("multimnist/ls offset=8", "multimnist/ls"),
        "costs both methods": (digits, f"{digits} split=released"),
        "LS more in the mean": ("multimnist/ls", "multimnist/ls split=released"),
    }
    for words, pair in lower.items():
        assert words in text and ends(*pair, "hypervolume", runs)[1] < 0, words
    printed = table("multiforward_multimnist").set_index(["W", "lam"]).loc[(4, 0)]
    for other in ("split=released", "lr_scaling=plain"):
        volumes = frame.measured(runs, select(f"{digits} {other}"), "hypervolume", "validation")
        assert (printed["mean"] - volumes.mean()) / printed["std"] > 3
    assert "more than three of the paper's standard deviations" in text
    skip = [runs[select(f"{census} penalty=printed{o}")] for o in ("", "; skip=as_released")]
    never, as_released = ([by[s].points for s in range(3)] for by in skip)
    assert never == as_released and "not a bit" in text
    order = {
        "the fronts run backwards": (census, f"{census} penalty=printed", 1),
        "balancing of gradients disturbs the order": (census, gradient, 1),
        "puts the front in better order than the paper's form": (
            loss, f"{loss}; {released}", -1,
        ),
        "a little, on Census": (census, f"{census} lr_scaling=plain", -1),
        "and MultiMNIST.": (digits, f"{digits} lr_scaling=plain", -1),
    }  # fmt: skip
    for words, (one, two, sign) in order.items():
        assert words in text and min(sign * np.array(ends(one, two, "order", runs))) > 0, words


def test_what_the_page_of_choices_says_of_draws(runs):
    text, found = passage("choices", "draws-text"), comparisons.draws(runs).astype(float)
    ours = found.index.get_level_values(0).str.startswith("PaMaL")
    assert "The draw moves a baseline by more than the seed does" in text
    assert (found["± draws"] > found["± seeds"])[~ours].all()
    assert "by more than it moves PaMaL" in text
    assert found["± draws"][~ours].min() > found["± draws"][ours].max()
    accuracies = found[found.index.get_level_values(1) != "hypervolume"]
    assert "about 0.4 points" in text
    assert accuracies["± draws"][
        ~ours[found.index.get_level_values(1) != "hypervolume"]
    ].mean() == (pytest.approx(0.005, abs=0.002))
    shift = tables.joint("multimnist", runs).filter(like="accuracy", axis=0)["mean difference"]
    assert (shift.abs() < found["± draws"][~ours].min()).all()


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
    assert f"`order` is {two.order.max():.2f} or lower" in text and two.order.max() < 0
    low, passing = two[two.spearman < -0.5], census[census.spearman < -0.5]
    assert f"{len(low)} of them have S < -0.5" in text
    assert f"Census {len(passing)} of 48 have S < -0.5, and {(passing.order < 0).sum()} of" in text
    paper = sweeps.printed("cosmos_multimnist").hypervolume
    more = two.hypervolume - paper
    assert (more > 0).all() and f"by {more.mean():.3f} in the mean" in text
    assert two.hypervolume.idxmax()[0] == paper.idxmax()[0] == 5.0
    best = census.loc[census.hypervolume.idxmax()]
    assert f"the largest is {best.hypervolume:.4f}, more" in text
    assert f"S is {best.spearman:.2f} and `order` {best.order:.2f}" in text
    ours = runs[Setting("census", "pamal")][0].hypervolume()
    assert best.hypervolume > ours and f"PaMaL's {ours:.4f} with this seed" in text


def test_what_the_notebook_says_of_phn_on_census_is_what_the_records_say(runs):
    text = conclusion("ablation_phn_cosmos")
    made = len(swept(runs, "census", "phn"))
    assert f"{made} of {len(sweeps.printed('phn_census'))} of PHN on Census" in text
    alone, pamal = (runs[Setting("census", method)][0] for method in ("phn", "pamal"))
    assert alone.hypervolume() > pamal.hypervolume()
    assert f"has {alone.hypervolume():.4f}, more than PaMaL's {pamal.hypervolume():.4f}" in text
    age = alone.summary["validation"]["spearman"]["age/accuracy"]
    assert f"backwards for age (rank correlation {age:.2f})" in text


def test_what_the_notebook_says_of_phn_on_multimnist_is_what_the_records_say(runs, findings):
    text, found = conclusion("ablation_phn_cosmos"), swept(runs, "multimnist", "phn")
    assert len(found) == 14 and f"with {(found.order > 0).sum()} of 14 settings" in text
    assert f"and {(found.spearman < -0.5).sum()} have S < -0.5" in text
    paper = sweeps.printed("phn_multimnist").hypervolume
    apart = (found.hypervolume - paper).abs()
    assert f"are {apart.mean():.3f} from the paper's in" in text
    assert apart.idxmax() == (1e-3, "linear", 1e-3) and f"solver {apart.max():.3f}." in text
    best = found.loc[found.hypervolume.idxmax()]
    assert best.name == (2.0, "linear", 1e-3) and f"order (S is {best.spearman:.2f})" in text
    volumes = sweeps.winners({"phn": found}).hypervolume.to_numpy()
    assert volumes[1] == volumes[2] == found.hypervolume[0.1, "linear", 1e-3]
    assert f"for {volumes[0] - volumes[1]:.4f} less" in text
    assert found.order[0.1, "linear", 1e-3] == pytest.approx(1)
    rivals = [one.hypervolume() for one in runs[select("multimnist/phn p=2")].values()]
    ours = [one.hypervolume() for one in runs[Setting("multimnist", "pamal")].values()]
    assert f"is {rivals[0]:.4f}, of a front" in text and volumes[1] > max(ours[0], paper.max())
    assert f"more than PaMaL's {ours[0]:.4f} with" in text and f"best, {paper.max():.4f}." in text
    assert "has {:.4f} and {:.4f}, PaMaL {:.4f} and {:.4f}:".format(*rivals[1:], *ours[1:3]) in text
    assert findings["MultiMNIST: PHN tuned on one seed, p = 2, is ahead of PaMaL"] == "undecided"


# The page of reproductions.


def test_what_the_page_of_reproductions_says_is_what_its_tables_say(runs):
    joint = {n: tables.joint(n, runs) for n in ("multimnist", "census", "multimnist3")}
    joint |= {n: tables.joint(n, runs) for n in ("multiforward_multimnist", "multiforward_census")}
    joint["cosmos"] = tables.joint("cosmos_multimnist", runs)
    text = section("reproduction", "MultiMNIST, on test (appendix C2)")
    assert "our baselines end lower than the paper's, on both digits" in text
    assert (joint["multimnist"]["mean difference"] < 0).all()
    assert joint["multimnist"].loc["hypervolume of 3 seeds ↑", "high"] < 0
    row = tables.report("multimnist", runs).loc["PaMaL", "hypervolume ↑"]
    assert "PaMaL's row has no such shift" in text and abs(row["difference"]) < 0.003
    text = section("reproduction", "Census, on test (appendix C2)")
    assert "the table cannot tell its rows apart" in text
    assert not joint["census"]["tells its rows apart"].any()
    counts = tables.report("census", runs)
    accuracies = counts[counts.index.get_level_values(1).str.startswith("accuracy")]
    assert "Nearly every number agrees" in text
    assert (accuracies["verdict"] == "agrees").mean() > 0.8
    text = section("reproduction", "Multi-forward training, validation hypervolume (appendix B1)")
    digits = tables.report("multiforward_multimnist", runs)
    assert "hardly a row can be decided" in text
    assert np.isinf(digits["seeds to decide"]).mean() > 0.8
    assert joint["multiforward_multimnist"]["p of the rank"].item() < 0.01
    assert "it tells its rows apart" in text
    assert joint["multiforward_census"]["tells its rows apart"].item()
    text = section("reproduction", "MultiMNIST3, on test (appendix C3)")
    right = joint["multimnist3"].loc["accuracy on top-right, % ↑"]
    assert "On the top-right digit all methods end higher" in text and right["low"] > 0
    three = tables.report("multimnist3", runs).xs("accuracy on top-right, % ↑", level=1)
    assert (three["difference"] > 0).all()
    theirs = three.drop(index=[label for label in three.index if "STL" in label])
    assert "by more than PaMaL" in text
    assert theirs["difference"].idxmin() in ("PaMaL", "Auto-lambda", "RLW")
    text = section("reproduction", "PHN and COSMOS, validation hypervolume (appendix B4)")
    assert "COSMOS ends higher here than in the paper in every setting" in text
    assert (tables.report("cosmos_multimnist", runs)["difference"] > 0).all()
    assert joint["cosmos"]["low"].item() > 0


def test_the_readme_counts_the_claims(runs):
    number = len(claims.table(runs))
    assert f"every table of the paper and {number} of its claims" in readme()


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
    assert f"validation hypervolume is {digits:.3f} in" in passage("multimnist", "title")
    assert f"have a validation hypervolume of {people:.4f} in" in passage("census", "title")


# Figure 4.


def test_how_many_runs_of_baselines_a_front_of_figure_4_leaves_undominated(runs):
    text, left = passage("reproduction", "f4"), {}
    for data in ("multimnist", "census"):
        theirs = {m: [*runs[Setting(data, m)].values()][:3] for m in paper.ONE_NETWORK}
        points = {m: [r.front("test").values[0] for r in found] for m, found in theirs.items()}
        assert sum(map(len, points.values())) == 36
        for seed, ours in [*runs[Setting(data, "pamal")].items()][:3]:
            front = ours.front("test").values
            above = {
                m: [bool((front > point).all(1).any()) for point in found]
                for m, found in points.items()
            }
            left[data, seed] = {m: f.count(False) for m, f in above.items() if not all(f)}
    assert [left["multimnist", seed] for seed in range(3)] == [{"uw": 3}, {}, {"uw": 3}]
    counts = [sum(left["census", seed].values()) for seed in range(3)]
    assert "leave {}, {} and {} of 36".format(*counts) in text
