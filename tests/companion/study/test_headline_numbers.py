"""Ten headline numbers from the files in `results/` alone, with nothing of this package.

`python tests/companion/study/test_headline_numbers.py` prints them; the tests hold the
package and the pages to them.
"""

import csv
import json
import re
from pathlib import Path

import numpy as np
from scipy.stats import rankdata, t

ROOT = Path(__file__).parents[3]
CHOSEN = "MultiMNIST, rate {}: the network of PaMaL chosen on validation against LS, on test"
AHEAD = "MultiMNIST, rate {}: PaMaL's front against LS"


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
    """By seed the product of the test accuracies of the point with the largest on validation."""
    test = points(name, "test")
    return {
        seed: accuracies(test[seed][1])[accuracies(metrics).prod(1).argmax()].prod()
        for seed, (_, metrics) in points(name, "validation").items()
    }


def apart(ours, theirs):
    """The mean of ours minus that of theirs, as two samples of as many seeds, and its 95 %
    interval: Welch's, which has at most the freedom of equal deviations."""
    one, two = (np.array([*side.values()]) for side in (ours, theirs))
    squares = one.var(ddof=1) / len(one), two.var(ddof=1) / len(two)
    free = sum(squares) ** 2 / (squares[0] ** 2 / (len(one) - 1) + squares[1] ** 2 / (len(two) - 1))
    reach = t.ppf(0.975, min(free, len(one) + len(two) - 2)) * np.sqrt(sum(squares))
    away = one.mean() - two.mean()
    return away, away - reach, away + reach


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
        **{AHEAD.format(r): apart(*map(areas, pair)) for r, pair in rates.items()},
        CHOSEN.format(0.001): apart(*map(chosen, rates[0.001])),
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
    cosmos = tables.joint("cosmos_multimnist", runs)["mean shift"].item()
    assert abs(found["COSMOS above the paper"] - cosmos) < 1e-9


def shown(page):
    """The tables of a page of the book."""
    cells = json.loads((ROOT / f"book/results/{page}.ipynb").read_text())["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return " ".join("".join(output.get("data", {}).get("text/html", "")) for output in outputs)


def test_the_pages_show_the_headline_numbers():
    found, page = headlines(), shown("tables")
    assert f"{found['MultiMNIST, mean']:.4f}" in page
    assert f"{found['COSMOS above the paper']:+.4f}" in page
    page = shown("beyond")
    for claim, numbers in found.items():
        if claim.startswith("MultiMNIST, rate"):
            assert "{:+.4f} [{:+.4f}, {:+.4f}]".format(*numbers) in page, claim


if __name__ == "__main__":
    for name, numbers in headlines().items():
        print(f"{name}: " + ", ".join(f"{number:.4f}" for number in np.atleast_1d(numbers)))
