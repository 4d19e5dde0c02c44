"""Ten headline numbers from the files in `results/` alone, with nothing of this package.

`python tests/study/test_headline_numbers.py` prints them; the tests hold the package and the pages
to them.
"""

import csv
import json
import re
from pathlib import Path

import numpy as np
from scipy.stats import rankdata, t

ROOT = Path(__file__).parents[3]
CHOSEN = "MultiMNIST, rate {}: the network of PaMaL chosen on validation is ahead of LS, on test"
AHEAD = "MultiMNIST, rate {}: PaMaL's front is ahead of LS"


def points(name, split):
    """By seed alphas [P, M], and every metric as an array [P], of results/NAME_seed_*.json."""
    found = {}
    for path in sorted((ROOT / "results").glob(f"{name}_seed_*.json")):
        seed = int(path.stem.rpartition("_")[2])
        rows = [p for p in json.loads(path.read_text())["points"] if p["split"] == split]
        metrics = {n: np.array([p["metrics"][n] for p in rows]) for n in rows[0]["metrics"]}
        found[seed] = np.array([p["alpha"] for p in rows]), metrics
    return dict(sorted(found.items()))


def accuracies(metrics):
    return np.stack([v for n, v in sorted(metrics.items()) if n.endswith("/accuracy")], axis=1)


def area(values):
    """Between points [P, 2] and the origin."""
    total, height = 0.0, 0.0
    for x, y in sorted(map(tuple, values), reverse=True):
        total += x * max(0.0, y - height)
        height = max(height, y)
    return total


def areas(name, split="validation"):
    return {seed: area(accuracies(m)) for seed, (_, m) in points(name, split).items()}


def chosen(name):
    """By seed the product of the test accuracies of the point with the best mean accuracy on
    validation, each scaled to its extent over the points that no other dominates."""
    found, test = {}, points(name, "test")
    for seed, (_, metrics) in points(name, "validation").items():
        v = accuracies(metrics)
        kept = [i for i in range(len(v)) if not ((v >= v[i]).all(1) & (v > v[i]).any(1)).any()]
        low, span = v[kept].min(0), np.ptp(v[kept], axis=0)
        best = kept[int(((v[kept] - low) / np.where(span > 0, span, 1)).mean(1).argmax())]
        found[seed] = accuracies(test[seed][1])[best].prod()
    return found


def paired(ours, theirs):
    """The mean of ours minus theirs over the seeds of both, and its 95 % interval."""
    away = np.array([ours[seed] - theirs[seed] for seed in sorted(ours.keys() & theirs.keys())])
    reach = t.ppf(0.975, len(away) - 1) * away.std(ddof=1) / np.sqrt(len(away))
    return away.mean(), away.mean() - reach, away.mean() + reach


def headlines():
    """Each number, or numbers, by what it is."""
    rates = {
        0.001: ("choices/multimnist/pamal-plain", "multimnist/ls"),
        0.002: ("multimnist/pamal", "beyond/multimnist/ls-lr=0.002"),
        0.004: ("beyond/multimnist/pamal-lr=0.002", "beyond/multimnist/ls-lr=0.004"),
    }
    ls = points("multimnist/ls", "test")
    three = np.concatenate([accuracies(ls[seed][1]) for seed in (0, 1, 2)])
    best = [accuracies(m).max(0) for _, m in points("multimnist3/pamal", "test").values()]
    sign = points("census/pamal-printed", "validation").values()
    orders = [
        np.corrcoef(rankdata(alphas[:, k]), rankdata(metrics[f"{task}/loss"]))[0, 1]
        for alphas, metrics in sign
        for k, task in enumerate(("age", "education"))
    ]
    with (ROOT / "pamal_companion/study/printed/cosmos_multimnist.csv").open() as file:
        printed = {
            (float(r["p"]), float(r["lam"])): float(r["hypervolume"]) for r in csv.DictReader(file)
        }
    away = []
    for (p, lam), number in printed.items():
        made = areas(f"ablation_phn_cosmos/multimnist/cosmos-p={p}-lam={lam:g}-lr=0.001")
        away.append(np.mean([*made.values()]) - number)
    return {
        "MultiMNIST, mean": np.mean([*areas("multimnist/pamal").values()]),
        "Census, mean": np.mean([*areas("census/pamal").values()]),
        "LS, three seeds together": area(three),
        **{AHEAD.format(r): paired(*map(areas, pair)) for r, pair in rates.items()},
        CHOSEN.format(0.001): paired(*map(chosen, rates[0.001])),
        "MultiMNIST3, accuracies": 100 * np.mean(best, axis=0),
        "the printed sign's order": np.mean(orders),
        "COSMOS above the paper": np.mean(away),
    }


def test_the_headline_numbers_are_those_of_the_package(runs):
    from pamal_companion.study import claims, frame, tables

    found = headlines()
    assert len(found) == 10
    for data in ("MultiMNIST", "Census"):
        setting = frame.select(f"{data.lower()}/pamal")
        own = frame.measured(runs, setting, "hypervolume", "validation").mean()
        assert abs(found[f"{data}, mean"] - own) < 1e-9
    few = {
        frame.select("multimnist/ls"): {s: runs[frame.select("multimnist/ls")][s] for s in range(3)}
    }
    union = tables.report("multimnist", few).loc["LS", tables.UNION]
    assert abs(found["LS, three seeds together"] - union["ours"]) < 1e-9
    texts = claims.table(runs, claims.FINDINGS).set_index("claim")["evidence"]
    for claim in found:
        if claim.startswith("MultiMNIST, rate"):
            numbers = re.findall(r"[+-]\d\.\d{4}", texts[claim].splitlines()[1])
            assert numbers == [f"{number:+.4f}" for number in found[claim]], claim
    three = tables.report("multimnist3", runs).loc["PaMaL"]
    by_name = three.sort_index()["ours"]  # bottom, top-left, top-right
    np.testing.assert_allclose(found["MultiMNIST3, accuracies"], by_name, atol=1e-9)
    order = frame.measured(
        runs, frame.select("census/pamal penalty=printed"), "order", "validation"
    )
    assert abs(found["the printed sign's order"] - order.mean()) < 1e-9
    cosmos = tables.joint("cosmos_multimnist", runs)["mean difference"].item()
    assert abs(found["COSMOS above the paper"] - cosmos) < 1e-9


def shown(page):
    """The tables of a page of the book."""
    cells = json.loads((ROOT / f"book/results/{page}.ipynb").read_text())["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return " ".join("".join(output.get("data", {}).get("text/html", "")) for output in outputs)


def test_the_pages_show_the_headline_numbers():
    found, page = headlines(), shown("reproduction")
    assert f"{found['MultiMNIST, mean']:.4f}" in page
    assert f"{found['COSMOS above the paper']:+.4f}" in page
    page = shown("beyond")
    for claim, numbers in found.items():
        if claim.startswith("MultiMNIST, rate"):
            assert "{:+.4f} [{:+.4f}, {:+.4f}]".format(*numbers) in page, claim


if __name__ == "__main__":
    for name, numbers in headlines().items():
        print(f"{name}: " + ", ".join(f"{number:.4f}" for number in np.atleast_1d(numbers)))
