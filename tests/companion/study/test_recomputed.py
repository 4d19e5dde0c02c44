"""More than twenty claims and comparisons, computed anew from the JSON of the records alone.

`python tests/companion/study/test_recomputed.py` prints them. Nothing here is of this package: the
study is imported by the test alone, which holds it to these numbers and words.
"""

import json
import math
import tomllib
from functools import cache, partial
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm as normal
from scipy.stats import t as student

RESULTS = Path(__file__).parents[3] / "results"
DIGITS = ("top-left", "bottom-right")
PEOPLE = ("age", "education")


@cache
def records(name):
    """The records of one setting, from results/NAME_seed_*.json, by seed."""
    found = {}
    for path in sorted(RESULTS.glob(f"{name}_seed_*.json")):
        found[int(path.stem.rpartition("_")[2])] = json.loads(path.read_text("utf-8"))
    return dict(sorted(found.items()))


def points(record, split, metric="accuracy"):
    """A metric of every network of a split: a tuple of the tasks for each."""
    tasks = [name.rpartition("/")[0] for name in record["objectives"]]
    rows = [point["metrics"] for point in record["points"] if point["split"] == split]
    return [tuple(row[f"{task}/{metric}"] for task in tasks) for row in rows]


# What a run measures.


def area(values):
    """Between points of two accuracies and (0, 0)."""
    total, height = 0.0, 0.0
    for x, y in sorted(values, reverse=True):
        total += x * max(0.0, y - height)
        height = max(height, y)
    return total


def volumes(name, split="validation"):
    return [area(points(record, split)) for record in records(name).values()]


def unions(name, split="test"):
    """The area of the points of three seeds together, of each three."""
    every = [points(record, split) for record in records(name).values()]
    groups = [every[k : k + 3] for k in range(0, len(every) - 2, 3)]
    return [area([point for front in group for point in front]) for group in groups]


def chosen(name):
    """On test the product of the accuracies of the network whose product on validation is the
    largest."""
    found = []
    for record in records(name).values():
        products = [math.prod(point) for point in points(record, "validation")]
        found.append(math.prod(points(record, "test")[products.index(max(products))]))
    return found


def best(name, task, split="test"):
    return [
        max(point[task] for point in points(record, split)) for record in records(name).values()
    ]


def beats(one, other):
    return all(a >= b for a, b in zip(one, other, strict=True)) and one != other


def undominated(name, metric="accuracy", split="test", reach=None):
    """The share of networks that no other one beats, or none at most `reach` steps away."""
    found = []
    for record in records(name).values():
        values = points(record, split, metric)
        if metric == "loss":
            values = [tuple(-loss for loss in point) for point in values]
        free = [
            not any(
                beats(other, one)
                for k, other in enumerate(values)
                if reach is None or 0 < abs(k - at) <= reach
            )
            for at, one in enumerate(values)
        ]
        found.append(sum(free) / len(free))
    return found


def pairs_in_order(name, split="validation"):
    """The share of pairs in which the network nearer to the member of a task has its lower loss."""
    found = []
    for record in records(name).values():
        alphas = [p["alpha"] for p in record["points"] if p["split"] == split]
        losses, shares = points(record, split, "loss"), []
        for task in range(2):
            pairs = [
                losses[j][task] < losses[i][task]
                for i, a in enumerate(alphas)
                for j, b in enumerate(alphas)
                if a[task] < b[task]
            ]
            shares.append(sum(pairs) / len(pairs))
        found.append(sum(shares) / 2)
    return found


def cosines(name):
    return [-record["summary"]["member_similarity"] for record in records(name).values()]


def middles(name):
    """The mean accuracy of the sixth of eleven networks, or of the only one."""
    fronts = [points(record, "test") for record in records(name).values()]
    return [sum(front[len(front) // 2]) / 2 for front in fronts]


# What follows from them.


def mean(values):
    return math.fsum(values) / len(values)


def variance(values):
    away = [value - values[0] for value in values]
    return math.fsum((a - mean(away)) ** 2 for a in away) / (len(values) - 1)


def difference(ours, theirs):
    """The mean difference, its error, and Welch's freedom, at most that of equal deviations."""
    a, b = variance(ours) / len(ours), variance(theirs) / len(theirs)
    sizes = len(ours) - 1, len(theirs) - 1
    welch = (a + b) ** 2 / (a**2 / sizes[0] + b**2 / sizes[1])
    x, y = 1 / len(ours), 1 / len(theirs)
    equal = (x + y) ** 2 / (x**2 / sizes[0] + y**2 / sizes[1])
    return mean(ours) - mean(theirs), math.sqrt(a + b), min(welch, equal)


def level_of(values):
    return mean(values), math.sqrt(variance(values) / len(values)), len(values) - 1


def interval(estimate, coverage=0.95):
    value, error, free = estimate
    reach = student.ppf((1 + coverage) / 2, free) * error
    return value - reach, value + reach


def compared(ours, theirs):
    """A comparison: its estimate and its word, of which a lead needs to be beyond the margin."""
    estimate = difference(ours, theirs)
    low, high = interval(estimate)
    if low > 0 and estimate[0] > 0.002:
        return [estimate], "ahead"
    if high < 0 and estimate[0] < -0.002:
        return [estimate], "behind"
    narrow = interval(estimate, 0.9)
    return [estimate], "level" if max(map(abs, narrow)) <= 0.002 else "open"


def claimed(*estimates, low):
    """A claim that all of its parts are above `low`: it fails where one is below by Bonferroni's
    interval."""
    count = len(estimates)
    if all(interval(one)[0] > low for one in estimates):
        return [*estimates], "holds"
    wide = 1 - 0.05 / count
    is_below = any(interval(one, wide)[1] < low for one in estimates)
    return [*estimates], "fails" if is_below else "open"


def everything():
    """Each claim by its text: its parts, and its word."""
    beyond, census = "beyond/multimnist", "beyond/census"
    ema = f"{beyond}/pamal-W=1-40-epochs-average", f"{beyond}/ls-40-epochs-average"
    found = {
        "MultiMNIST, the paper's rates: PaMaL's front against LS": compared(
            volumes("multimnist/pamal"), volumes("multimnist/ls")
        ),
        "MultiMNIST, rate 0.001: PaMaL's front against LS": compared(
            volumes("choices/multimnist/pamal-plain"), volumes("multimnist/ls")
        ),
        "MultiMNIST, rate 0.002: PaMaL's front against LS": compared(
            volumes("multimnist/pamal"), volumes(f"{beyond}/ls-lr=0.002")
        ),
        "MultiMNIST, rate 0.004: PaMaL's front against LS": compared(
            volumes(f"{beyond}/pamal-lr=0.002"), volumes(f"{beyond}/ls-lr=0.004")
        ),
        "MultiMNIST, equal passes: one network of LS against PaMaL's front": compared(
            volumes(f"{beyond}/ls-40-epochs"), volumes("multimnist/pamal")
        ),
        "MultiMNIST, equal passes, on test: one network of LS against PaMaL's front": compared(
            volumes(f"{beyond}/ls-40-epochs", "test"), volumes("multimnist/pamal", "test")
        ),
        "MultiMNIST, 40 passes, with an EMA: PaMaL with W = 1 against LS": compared(
            *map(volumes, ema)
        ),
        "MultiMNIST, 40 passes, with an EMA: the network of PaMaL with W = 1 chosen on validation "
        "against LS, on test": compared(*map(chosen, ema)),
        "MultiMNIST, equal passes: the network of PaMaL chosen on validation against LS, on "
        "test": compared(chosen("multimnist/pamal"), chosen(f"{beyond}/ls-40-epochs")),
        "MultiMNIST, the paper's rates: the network of PaMaL chosen on validation against LS, on "
        "test": compared(chosen("multimnist/pamal"), chosen("multimnist/ls")),
        "MultiMNIST, 40 passes, with an EMA: a soup against PaMaL with W = 1": compared(
            volumes(f"{beyond}/soup-40-passes-average"), volumes(ema[0])
        ),
        "MultiMNIST, equal passes, each at its best rate with an EMA: PaMaL with stratified draws "
        "against LS": compared(
            volumes(f"{beyond}/pamal-stratified-lr=0.002-average"),
            volumes(f"{beyond}/ls-40-epochs-lr=0.002-average"),
        ),
        "Census, the paper's rates: PaMaL's front against LS": compared(
            volumes("census/pamal"), volumes("census/ls")
        ),
        "Census, each at the best rate tried: PaMaL's front against LS": compared(
            volumes(f"{census}/pamal-lr=0.0003"), volumes(f"{census}/ls-lr=0.0003")
        ),
        "Census, with an EMA, each at its best rate tried: PaMaL with W = 2 against LS": compared(
            volumes(f"{census}/pamal-lr=0.0003-average"), volumes(f"{census}/ls-lr=0.0003-average")
        ),
        "Census, 20 passes: a soup against PaMaL with W = 2": compared(
            volumes(f"{census}/soup-20-passes"), volumes("census/pamal")
        ),
        "Census, the paper's rates: the network of PaMaL chosen on validation against LS, on "
        "test": compared(chosen("census/pamal"), chosen("census/ls")),
    }
    for data, name in (("multimnist", "MultiMNIST"), ("census", "Census")):
        shares = level_of(undominated(f"{data}/pamal"))
        found[f"Most points of one run are non-dominated: {name}"] = claimed(shares, low=0.5)
        near = level_of(undominated(f"{data}/pamal", "loss", reach=1))
        text = f"No point of one run dominates its neighbour in loss (Claim 1, relaxed): {name}"
        found[text] = claimed(near, low=0.95)
    methods = ["ls", "rlw", "uw", "dwa", "mgda", "pcgrad", "imtl", "graddrop", "cagrad"]
    methods += ["nash_mtl", "auto_lambda", "rotograd"]
    for data, name in (("multimnist", "MultiMNIST"), ("census", "Census")):
        ours = volumes(f"{data}/pamal", "test")
        theirs = {m: unions(f"{data}/{m}") for m in methods}
        parts = [one_group(ours, groups) for groups in theirs.values()]
        text = "PaMaL's front has a larger hypervolume than three seeds of any baseline together"
        text += f": {name}"
        found[text] = claimed(*parts, low=0.0)
    ours, theirs = "multimnist3/pamal", "multimnist3/ls"
    parts = [difference(best(ours, k), best(theirs, k)) for k in range(3)]
    text = "The best of PaMaL's front is above linear scalarisation on each task: MultiMNIST3"
    found[text] = claimed(*parts, low=0.0)
    folder = "ablation_sampling/multimnist/pamal-W=1-lam=0.0-p="
    found["With p = 0.1 the middle is worse than with p = 100: MultiMNIST"] = claimed(
        difference(middles(f"{folder}100.0"), middles(f"{folder}0.1")), low=0.0
    )
    folder = "ablation_sampling/census/pamal-W=1-lam=0.0-p="
    ladder = [cosines(f"{folder}{p}") for p in ("0.0", "0.1", "1.0", "100.0")]
    found["The larger p, the more alike the members: Census"] = claimed(
        *(difference(low, high) for low, high in pairwise(ladder)), low=0.0
    )
    found["Without a penalty fewer pairs of points are out of order than on Census: MultiMNIST"] = (
        claimed(
            difference(
                pairs_in_order("multimnist/pamal"),
                pairs_in_order("ablation_multiforward/census/pamal-W=2-lam=0.0"),
            ),
            low=0.0,
        )
    )
    long = "beyond/multimnist/pamal-long-average"
    text = (
        "MultiMNIST, with an EMA of 0.999: no point of one run dominates another in loss (Claim 1)"
    )
    found[text] = [(mean(undominated(long, "loss", "validation")), 0.0, 2)], "holds"
    return found


def one_group(ours, groups):
    """A single group of three is taken to have the deviation of ours."""
    if len(groups) > 1:
        return difference(ours, groups)
    error = math.sqrt(variance(ours) * (1 / len(ours) + 1))
    return mean(ours) - groups[0], error, len(ours) - 1


def test_more_than_twenty_claims_are_what_the_records_say_by_other_code(runs):
    from pamal_companion.study.claim import judge
    from pamal_companion.study.claims import CLAIMS, FINDINGS

    known, checked = CLAIMS | FINDINGS, everything()
    assert len(checked) > 20
    for text, (parts, word) in checked.items():
        found = judge(known[text], runs)
        assert found.word == word, text
        estimates = sorted(float(part.estimate.value) for part in found.parts)
        expected = sorted(value for value, _, _ in parts)
        assert len(estimates) == len(expected), text
        for one, two in zip(estimates, expected, strict=True):
            assert math.isclose(one, two, abs_tol=1e-9), text
        errors = sorted(float(part.estimate.error) for part in found.parts)
        for one, two in zip(errors, sorted(error for _, error, _ in parts), strict=True):
            assert math.isclose(one, two, rel_tol=1e-6, abs_tol=1e-12), text
    assert {word for _, word in checked.values()} >= {"ahead", "behind", "level", "open", "holds"}


# What was registered.


def together(question, names, seed, split="validation", metric="accuracy"):
    """All points of some settings of a question, of one seed."""
    every = [records(f"registered/{question}/{name}")[seed] for name in names]
    return [point for record in every for point in points(record, split, metric)]


def paired(ours, theirs, margin=0.002):
    return distant([a - b for a, b in zip(ours, theirs, strict=True)], margin)


def distant(away, margin=0.002):
    """What differences say: are they apart from 0, are they within the margin of it."""
    value, error, free = level_of(away)
    if error == 0:
        return {"value": value, "p": float(value == 0), "level": float(abs(value) >= margin)}
    low, high = ((value + side * margin) / error for side in (1, -1))
    return {
        "value": value,
        "p": 2 * student.sf(abs(value) / error, free),
        "level": max(student.sf(low, free), student.cdf(high, free)),
    }


def corrected(p):
    """Whether each stands among all, one after the other from the smallest p on."""
    stands, ranked = [False] * len(p), sorted(range(len(p)), key=p.__getitem__)
    for passed, k in enumerate(ranked):
        if p[k] * (len(p) - passed) >= 0.05:
            break
        stands[k] = True
    return stands


def extent(values):
    kept = [one for one in values if not any(beats(other, one) for other in values)]
    return max(max(axis) - min(axis) for axis in zip(*kept, strict=True))


def pages(rows):
    """The p of Page's L where no two numbers of a row are alike, by the normal distribution."""
    n, k = len(rows), len(rows[0])
    score = sum(
        (place + 1) * (sorted(row).index(value) + 1)
        for row in rows
        for place, value in enumerate(row)
    )
    expected = n * k * (k + 1) ** 2 / 4
    deviation = math.sqrt(n * k**2 * (k + 1) ** 2 * (k - 1) / 144)
    return normal.sf((score - expected) / deviation)


def judged(family, words=("ahead", "behind"), beyond=0.0):
    """The estimate and the word of each of a family, which may need to be beyond the margin."""
    differ, level = (corrected([one[name] for one in family]) for name in ("p", "level"))
    for one, differs, near in zip(family, differ, level, strict=True):
        leads = differs and abs(one["value"]) > beyond
        word = words[0 if one["value"] > 0 else 1] if leads else "level" if near else "open"
        yield one["value"], word


SHORT = [f"ls-{weight}-short" for weight in (0.1, 0.3, 0.5, 0.7, 0.9)]


def front_against_five(question, width, seeds):
    sides = (
        [area(together(question, [f"{width}-{name}" for name in names], seed)) for seed in seeds]
        for names in (["pamal"], SHORT)
    )
    return paired(*sides)


def dial():
    question, widths, seeds = "dial-of-conflict", (2, 3, 4, 6, 10, 50), range(20, 25)
    family, spans = [front_against_five(question, width, seeds) for width in widths], []
    for width in widths:
        ours = [together(question, [f"{width}-pamal"], seed) for seed in seeds]
        theirs = [together(question, [f"{width}-ls-0.5"], seed)[0] for seed in seeds]
        family.append(paired([math.prod(of[5]) for of in ours], map(math.prod, theirs)))
        spans.append([*map(extent, ours)])
    rising = [*zip(*spans[::-1], strict=True)]
    value = mean([row[-1] - row[0] for row in rising])
    family.append({"value": value, "p": pages(rising), "level": 1.0})
    *rest, (value, word) = judged(family)
    return [*rest, (value, {"ahead": "holds", "behind": "fails"}.get(word, word))]


def dial_again():
    question, widths = "dial-at-fresh-seeds", (3, 4, 6, 10)
    return judged([front_against_five(question, width, range(25, 40)) for width in widths])


def best_four(question, name, seed):
    """Those of a run's points whose area on validation is largest, on test."""
    on_validation, on_test = (together(question, [name], seed, s) for s in ("validation", "test"))
    four = max(combinations(range(11), 4), key=lambda k: area([on_validation[i] for i in k]))
    return [on_test[i] for i in four]


def sweeps():
    question, family = "one-run-against-a-sweep", []
    for data in ("multimnist", "census"):
        names, ours = [f"{data}-ls-{weight}" for weight in (0.2, 0.4, 0.6, 0.8)], f"{data}-pamal"
        sweep = [area(together(question, names, seed, "test")) for seed in range(20, 40)]
        whole = [area(together(question, [ours], seed, "test")) for seed in range(20, 40)]
        four = [area(best_four(question, ours, seed)) for seed in range(20, 40)]
        family += [paired(whole, sweep), paired(four, sweep)]
    return judged(family)


def forty_passes():
    at = "registered/forty-passes/"

    def better(method):
        names = [f"{at}{method}-{rate}" for rate in (0.001, 0.002)]
        return volumes(max(names, key=lambda name: mean(volumes(name))), "test")

    names = [f"{at}pamal-one-draw", f"{at}pamal-four-stratified"]
    fronts = [paired(volumes(name, "test"), better("soup")) for name in names]
    return judged(fronts + [paired(chosen(name), better("ls")) for name in names])


def at_equal_cost():
    at, names = "registered/census-at-equal-cost/", ["W=1", "W=2-lam=0", "W=2-lam=5"]
    ls, ours = volumes(f"{at}ls", "test"), [f"{at}pamal-{name}" for name in names]
    fronts = [paired(volumes(name, "test"), ls) for name in ours]
    return judged([paired(chosen(name), ls) for name in ours] + fronts)


def long_averages():
    names = (f"registered/claim-1/{data}-ema" for data in ("multimnist", "census"))
    shares = [undominated(name, "loss", "validation") for name in names]
    away = ([share - 0.5 for share in of] for of in shares)
    return judged([distant(of, margin=0) for of in away], ("holds", "fails"))


def volume(points):
    """Between points [P, T] of accuracies and 0: what each has beyond all after it, by the same
    rule (While et al., "A fast way of calculating exact hypervolumes", 2012)."""
    total = 0.0
    for k, point in enumerate(points := not_beaten(points)):
        total += point.prod() - volume(np.minimum(points[k + 1 :], point))
    return total


def not_beaten(points):
    """Each point that no other is as good as everywhere, and one of those that are equal."""
    as_good = (points[:, None] >= points).all(2)
    is_later = np.arange(len(points))[:, None] > np.arange(len(points))
    return points[~(as_good & (~as_good.T | is_later)).any(0)]


def more_tasks():
    question, family = "tasks", []
    for count in (2, 4, 8):
        paths = RESULTS.glob(f"registered/{question}/{count}-ls-*_seed_20.json")
        sweep = [path.stem.removesuffix("_seed_20") for path in paths]
        assert len(sweep) == count
        sides = (
            [volume(np.array(together(question, names, seed, "test"))) for seed in range(20, 25)]
            for names in ([f"{count}-pamal"], sweep)
        )
        family.append(paired(*sides))
    return judged(family)


# Recipes at equal passes.


def asked_of(question):
    return tomllib.loads((RESULTS / f"registered/{question}.toml").read_text("utf-8"))


def reached(question, recipe, seed, objectives, reference, limit=None, base_rate=None):
    """What four points of a recipe reach on test: those whose area from `reference` on validation
    is largest. Where the second objective has a `limit`, the first one of the best that keeps it
    on validation, or the base rate. `objectives` say of each whether higher is better."""
    names = [row["name"] for row in asked_of(question)["settings"]]
    names = [recipe] if recipe in names else [f"{recipe}-{place}" for place in (1, 2, 3, 4)]
    made = [records(f"registered/{question}/{name}")[seed]["points"] for name in names]
    validation, test = (
        [
            [point["metrics"][name] for name in objectives]
            for points_of in made
            for point in points_of
            if point["split"] == split
        ]
        for split in ("validation", "test")
    )

    def from_reference(rows):
        ways = [*zip(reference, objectives.values(), strict=True)]
        return area(
            tuple(max(x - r if up else r - x, 0.0) for x, (r, up) in zip(row, ways, strict=True))
            for row in rows
        )

    choices = combinations(range(len(validation)), min(4, len(validation)))
    four = max(choices, key=lambda rows: from_reference([validation[k] for k in rows]))
    if limit is None:
        return from_reference([test[k] for k in four])
    within = [k for k in four if validation[k][1] <= limit]
    return test[max(within, key=lambda k: validation[k][0])][0] if within else base_rate


def of_recipes(question):
    """Each hypothesis of a file that compares recipes, corrected among its family."""
    asked = asked_of(question)
    seeds_of = {row["name"]: {*row.get("seeds", asked["seeds"])} for row in asked["settings"]}
    some = next(iter(records(f"registered/{question}/{asked['settings'][0]['name']}").values()))
    objectives = {name: way == "max" for name, way in some["objectives"].items()}
    how = {"limit": asked.get("limits", [None])[0], "base_rate": asked.get("base_rate")}
    rows = asked["hypotheses"]
    families = {row["family"]: [] for row in rows}
    for row in rows:
        sides = row["ours"], row["theirs"]
        seeds = sorted(
            set.intersection(*(seeds_of.get(side, seeds_of.get(f"{side}-1")) for side in sides))
        )
        both = (
            [reached(question, side, s, objectives, asked["reference"], **how) for s in seeds]
            for side in sides
        )
        families[row["family"]].append(paired(*both, margin=asked["margin"]))
    words = {name: judged(family, beyond=asked["margin"]) for name, family in families.items()}
    return [next(words[row["family"]]) for row in rows]


def by_picks():
    question, seeds = "fairness-by-picks", range(60, 80)
    objectives = {"income/right picks": True, "parity/gap in picks": False}
    how = {"limit": 0.03, "base_rate": 0.062}
    ours, *others = (
        [reached(question, recipe, s, objectives, (0.062, 0.08), **how) for s in seeds]
        for recipe in ("pamal", "soup", "ls", "sweep")
    )
    return judged([paired(ours, one, margin=0.005) for one in others], beyond=0.005)


REGISTERED = {
    "fairness-front": partial(of_recipes, "fairness-front"),
    "bottleneck-that-cannot-die": partial(of_recipes, "bottleneck-that-cannot-die"),
    "census-front": partial(of_recipes, "census-front"),
    "multimnist-front": partial(of_recipes, "multimnist-front"),
    "fairness-by-picks": by_picks,
    "dial-of-conflict": dial,
    "dial-at-fresh-seeds": dial_again,
    "one-run-against-a-sweep": sweeps,
    "forty-passes": forty_passes,
    "census-at-equal-cost": at_equal_cost,
    "claim-1": long_averages,
    "tasks": more_tasks,
}


@pytest.mark.parametrize("name", REGISTERED)
def test_what_was_registered_has_the_same_words_by_other_code(name):
    from pamal_companion.study.registered import read, verdicts

    question = read(name)
    assert question.asked.judged
    if question.progress != "complete":
        pytest.skip(f"{name} is {question.progress}: until the last run no number is looked at")
    found, other = verdicts(question), [*REGISTERED[name]()]
    assert len(found) == len(other)
    for row, (value, word) in zip(found.itertuples(), other, strict=True):
        assert row.estimate.startswith(f"{value:+.4f}"), row.Index
        assert row.verdict == word, row.Index


def test_every_registration_that_is_judged_is_recomputed():
    files = RESULTS.glob("registered/*.toml")
    names = [path.stem for path in files if asked_of(path.stem).get("judged", True)]
    assert sorted(names) == sorted(REGISTERED)


if __name__ == "__main__":
    for claim, (estimates, verdict) in everything().items():
        numbers = ", ".join(f"{value:+.4f} ± {error:.4f}" for value, error, _ in estimates)
        print(f"{verdict:>7}  {claim}: {numbers}")
    for question, recomputed in REGISTERED.items():
        for value, verdict in recomputed():
            print(f"{verdict:>7}  {question}: {value:+.4f}")
