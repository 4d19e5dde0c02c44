"""What the paper claims of its parts: sampling, balancing, multi-forward training, the learning
rate, and of rivals that learn fronts (section 4, appendices A and B)."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from pamal_core.runs.records import Record
from pamal_core.study.claims import NotRunError, Results, Verdict, claim, listed
from pamal_core.study.claims_fronts import DATA, claim_on_both, mean_best
from pamal_core.study.paper import table

SWEEP = "ablation_multiforward"
SIGNS = {"printed": "-penalty=printed-skip=as_released", "ordered": "-penalty=ordered"}


def setting(W: int, lam: float, sign: str = "") -> str:
    """The name of a record of multi-forward training."""
    return f"pamal-W={W}-lam={lam:.1f}{SIGNS[sign] if sign else ''}"


def competition(record: Record) -> float:
    """The paper's criterion for a front, on validation: -1 at best; 0 where all points are one."""
    return record.summary["validation"]["competition"] or 0.0


def _toy(variant: str, text: str, expected: int) -> None:
    @claim(text, "Fig. 1, B2")
    def _(results: Results) -> tuple[str, Verdict]:
        found = results.one("toy/all_seed_0").summary[variant]
        runs, covering = len(found["runs"]), found["covering"]
        kinds = ", ".join(f"{count} {kind}" for kind, count in found["verdicts"].items())
        evidence = f"{covering} of {runs} pairs cover the front; their subspaces: {kinds}"
        return evidence, abs(covering - expected) <= 2 or ("in part" if covering else False)


_toy("PaMaL, c = 1", "The toy problem's front is found from 21 or 22 of 25 starts", 21)
_toy("PaMaL, c = 0.1", "Where the losses differ in scale only a part is found", 0)
_toy("PaMaL, c = 0.1, gradient balancing", "Gradient balancing then finds all of it", 25)
_toy("PaMaL, c = 0.1, loss balancing", "Loss balancing finds it from 20 of 25 starts", 20)


def _best_window(data: str, name: str, W: int, lam: int) -> None:
    @claim(f"The best of 17 settings is W = {W}, lambda = {lam}: {name}", "5.1, B1")
    def _(results: Results) -> tuple[str, Verdict]:
        volumes = {}
        for _, row in table(f"multiforward_{data}").iterrows():
            sign = "printed" if row.lam else ""
            records = results.seeds(f"{SWEEP}/{data}/{setting(int(row.W), float(row.lam), sign)}")
            volumes[int(row.W), int(row.lam)] = {r.seed: r.hypervolume() for r in records}
        by_seed = pd.DataFrame(volumes).dropna()
        if len(by_seed) < 2:  # the settings differ by less than seeds do
            raise NotRunError("every setting with the same two seeds")
        means, deviation = by_seed.mean(), float(np.sqrt(by_seed.var().mean()))
        best, own = means.idxmax(), means[W, lam]
        evidence = (
            f"W = {best[0]}, lambda = {best[1]}: {means[best]:.4f}; {own:.4f}; "
            f"{len(by_seed)} seeds, deviation {deviation:.4f}"
        )
        near = means[best] - own <= 2 * deviation
        return evidence, best == (W, lam) or ("in part" if near else False)


_best_window("multimnist", "MultiMNIST", 4, 0)
_best_window("census", "Census", 2, 5)


def _penalty(sign: str, text: str) -> None:
    @claim(text, "4.2, B1")
    def _(results: Results) -> tuple[str, Verdict]:
        folder = f"{SWEEP}/census"
        with_it = results.seeds(f"{folder}/{setting(2, 5.0, sign)}")
        without = {r.seed: r for r in results.seeds(f"{folder}/{setting(2, 0.0)}")}
        pairs = [
            (r.order("test"), without[r.seed].order("test")) for r in with_it if r.seed in without
        ]
        if not pairs:
            raise NotRunError("both settings with the same seed")
        ours, none = zip(*pairs, strict=True)
        evidence = (
            f"rank correlation of alpha and loss (-1 is in order) {listed(list(ours), 2)} with the "
            f"penalty, {listed(list(none), 2)} without; Census, W = 2, lambda = 5"
        )
        return evidence, all(a < b and a < -0.5 for a, b in pairs)


_penalty("printed", "The penalty as printed and released puts the front in order")
_penalty("ordered", "With the sign that the text describes it does")


@claim("Multi-forward training improves the front: Census", "4.2, B1")
def _multi_forward(results: Results) -> tuple[str, Verdict]:
    one, own = (
        results.seeds(f"{SWEEP}/census/{name}")
        for name in (setting(1, 0.0), setting(2, 5.0, "printed"))
    )
    means = [float(np.mean([r.hypervolume() for r in rs])) for rs in (one, own)]
    evidence = f"validation hypervolume {means[1]:.4f}, with one draw and no penalty {means[0]:.4f}"
    return evidence, means[1] > means[0]


def sampled(
    results: Results, data: str, ps: Sequence[float], measure: Callable[[Record], float]
) -> list[float]:
    """For each p of `ps` the mean of `measure` over the runs whose alphas were drawn with it."""
    name = f"ablation_sampling/{DATA[data]}/pamal-W=1-lam=0.0-p="
    return [float(np.mean([measure(r) for r in results.seeds(f"{name}{p:.1f}")])) for p in ps]


def centre(record: Record) -> float:
    """The mean accuracy on test of the network in the middle of the front."""
    return float(np.mean([*record.front("test").middle().values()]))


@claim_on_both("Drawing only the ends (p = 0) leaves the middle untrained", "A1")
def _ends_only(data: str, results: Results) -> tuple[str, Verdict]:
    ends, all_of_it = sampled(results, data, (0.0, 1.0), centre)
    evidence = f"mean accuracy at the centre {ends:.4f}, with p = 1 {all_of_it:.4f}"
    return evidence, ends < all_of_it - 0.01


@claim("Drawing near the ends (p = 0.1) costs accuracy in the middle: MultiMNIST", "A1")
def _near_the_ends(results: Results) -> tuple[str, Verdict]:
    near, centred = sampled(results, "MultiMNIST", (0.1, 100.0), centre)
    return f"mean accuracy at the centre {near:.4f}, with p = 100 {centred:.4f}", near < centred


@claim_on_both("Drawing only the centre (p = 100) makes the members alike", "A1")
def _centre_only(data: str, results: Results) -> tuple[str, Verdict]:
    ps = (0.0, 0.1, 1.0, 100.0)
    alike = sampled(results, data, ps, lambda record: record.summary["member_similarity"])
    evidence = f"cosine of the members for p = 0, 0.1, 1, 100: {listed(alike, 2)}"
    return evidence, alike == sorted(alike)


@claim("Members that are alike (p = 100) have the smaller front: Census", "A1")
def _alike_is_small(results: Results) -> tuple[str, Verdict]:
    wide, alike = sampled(results, "Census", (0.1, 100.0), lambda r: r.hypervolume("test"))
    return f"hypervolume on test {alike:.4f}, with p = 0.1 {wide:.4f}", alike < wide


@claim("A learning rate M times as high gives a better front: MultiMNIST", "5, C1")
def _learning_rate(results: Results) -> tuple[str, Verdict]:
    plain, members = (
        [record.hypervolume() for record in results.seeds(name)]
        for name in ("choices/multimnist/pamal-plain", "multimnist/pamal")
    )
    evidence = f"validation hypervolume {listed(members)} with it, {listed(plain)} without"
    return evidence, min(members) > max(plain)


@claim("A learning rate M times as high gives better accuracies: MultiMNIST3", "5, C1")
def _learning_rate_of_three(results: Results) -> tuple[str, Verdict]:
    plain, members = (
        mean_best(results.seeds(f"multimnist3/pamal{name}")) for name in ("", "-members")
    )
    paper = (
        table("multimnist3").set_index("method").loc["PaMaL", [f"accuracy_{t}" for t in (1, 2, 3)]]
    )
    printed = [value / 100 for value in paper]
    evidence = (
        f"accuracies on MultiMNIST3 {listed(list(members))} with it, {listed(list(plain))} "
        f"without; the paper's {listed(printed)} are those without"
    )
    return evidence, "in part" if (members > plain).any() else False


def _rival(method: str, name: str) -> None:
    @claim(f"Its front is better than that of {name}: MultiMNIST", "5.1, B4")
    def _(results: Results) -> tuple[str, Verdict]:
        rival, ours = results.seeds(f"multimnist/{method}"), results.seeds("multimnist/pamal")
        volumes = [[r.hypervolume() for r in records] for records in (ours, rival)]
        orders = [[competition(r) for r in records] for records in (ours, rival)]
        evidence = (
            f"validation hypervolume {listed(volumes[0])}, {name} {listed(volumes[1])}; rank "
            f"correlation of the tasks {listed(orders[0], 2)}, {name} {listed(orders[1], 2)}"
        )
        larger, steadier = (
            np.mean(volumes[0]) > np.mean(volumes[1]),
            np.mean(orders[0]) < np.mean(orders[1]),
        )
        return evidence, bool(larger and steadier) or ("in part" if larger else False)


_rival("phn", "PHN")
_rival("cosmos", "COSMOS")


@claim("COSMOS gives up hypervolume where its points are in order: Census", "5.1, B4")
def _cosmos_pays(results: Results) -> tuple[str, Verdict]:
    records = results.seeds("ablation_phn_cosmos/census/cosmos-*")
    volumes = [(r.hypervolume(), competition(r)) for r in records]
    kept = [volume for volume, rank in volumes if rank < -0.6]
    best, rank = max(volumes)
    inside = f"{max(kept):.4f}" if kept else "none"
    evidence = (
        f"best of {len(volumes)} runs {best:.4f}, with rank correlation {rank:.2f}; best below "
        f"-0.6: {inside}"
    )
    return evidence, not kept or max(kept) < best


@claim("PHN needs about a hundred times as many weights", "5.1, B4")
def _phn_is_large(_: Results) -> tuple[str, Verdict]:
    return "101 N + 10,400 for N weights of the network: two layers of 100 and a last one", True


@claim("One run costs little more than one of a baseline: MultiMNIST", "1")
def _cost(results: Results) -> tuple[str, Verdict]:
    seconds = [
        float(np.median([r.cost["train_seconds"] for r in results.seeds(f"multimnist/{name}")]))
        for name in ("pamal", "ls")
    ]
    ratio = seconds[0] / seconds[1]
    evidence = (
        "with W = 1 as many passes as linear scalarisation; the paper's W = 4 took "
        f"{ratio:.1f} times as long"
    )
    return evidence, ratio < 1.5 or ("in part" if ratio < 5 else False)
