"""What the paper claims of its fronts and of its rivals (sections 1, 3 and 5, appendix C)."""

import contextlib
from collections.abc import Callable
from functools import partial
from itertools import combinations

import numpy as np
from matplotlib.figure import Figure

from pamal_core.plots.fronts import seeds_figure
from pamal_core.runs.records import Record
from pamal_core.study import claim as claim_1
from pamal_core.study.claims import NotRunError, Results, Verdict, claim, listed
from pamal_core.study.tables import ONE_NETWORK, PRINTED, REFERENCE, union

DATA = {"MultiMNIST": "multimnist", "Census": "census"}
BEYOND_LS = [name for name in ONE_NETWORK if name != "ls"]
CheckOn = Callable[[str, Results], tuple[str, Verdict]]


def claim_on_both(text: str, where: str) -> Callable[[CheckOn], CheckOn]:
    """Adds the function below it to the claims, once for each of `DATA`."""

    def add(check: CheckOn) -> CheckOn:
        for data in DATA:
            claim(f"{text}: {data}", where)(partial(check, data))
        return check

    return add


def baselines(results: Results, data: str) -> dict[str, list[Record]]:
    """The seeds of every method with one network that has been run; NotRunError without LS."""
    found = {"ls": results.seeds(f"{data}/ls")}
    for name in BEYOND_LS:
        try:
            found[name] = results.seeds(f"{data}/{name}")
        except NotRunError:
            continue
    return found


def mean_best(records: list[Record]) -> np.ndarray:
    """The best of each objective on test, a mean over `records`: [T]."""
    return np.mean([list(record.summary["test"]["best"].values()) for record in records], axis=0)


@claim("A line in weight space can hold a whole front (Theorem 1)", "3.2, A3")
def _theorem(_: Results) -> tuple[str, Verdict]:
    return "built, for three families of functions, and within its bound: the page on theory", True


@claim_on_both("One run finds a whole front", "abstract, 5.1")
def _one_run_is_a_front(data: str, results: Results) -> tuple[str, Verdict]:
    fronts = [record.front("test") for record in results.seeds(f"{DATA[data]}/pamal")]
    kept = [int(front.non_dominated().sum()) for front in fronts]
    order = [front.competition() for front in fronts]
    evidence = (
        f"of {len(fronts[0].alphas)} points on test {', '.join(map(str, kept))} are "
        f"non-dominated; rank correlation of the two accuracies {listed(order, 2)}"
    )
    whole = all(n == len(front.alphas) for n, front in zip(kept, fronts, strict=True))
    return evidence, whole or ("in part" if max(order) < -0.5 else False)


@claim_on_both("Its hypervolume is above that of every baseline", "5.1, C2")
def _above_the_baselines(data: str, results: Results) -> tuple[str, Verdict]:
    ours = [record.hypervolume("test") for record in results.seeds(f"{DATA[data]}/pamal")]
    found = baselines(results, DATA[data])
    together = {
        name: union([r.front("test") for r in records]).hypervolume(REFERENCE)
        for name, records in found.items()
    }
    best = max(together, key=together.__getitem__)
    single = max(r.hypervolume("test") for records in found.values() for r in records)
    evidence = (
        f"{listed(ours)}; the best baseline, {PRINTED[best]}, has {together[best]:.4f} with "
        f"all its seeds together, and the best single run {single:.4f}"
    )
    above = min(ours) > together[best]
    return evidence, above or ("in part" if np.mean(ours) > single else False)


@claim_on_both("The best of its networks match single-task learning", "Fig. 4")
def _at_least_single_task(data: str, results: Results) -> tuple[str, Verdict]:
    stl = [mean_best(results.seeds(f"{DATA[data]}/stl-{task}"))[0] for task in (0, 1)]
    ours = mean_best(results.seeds(f"{DATA[data]}/pamal"))
    evidence = f"best accuracies {listed(list(ours))}; single-task {listed(stl)}"
    better = int((ours >= stl).sum())
    return evidence, better == len(stl) or ("in part" if better else False)


@claim_on_both("Seeds of a baseline end alike, one front of PaMaL reaches further", "5.1")
def _baselines_repeat_themselves(data: str, results: Results) -> tuple[str, Verdict]:
    apart = [
        float(np.abs(one.front("test").values - two.front("test").values).max())
        for records in baselines(results, DATA[data]).values()
        for one, two in combinations(records, 2)
    ]
    if not apart:
        raise NotRunError(f"a second seed of a baseline on {data}")
    fronts = [r.front("test") for r in results.seeds(f"{DATA[data]}/pamal")]
    reach = [float(np.ptp(f.values[f.non_dominated()], axis=0).max()) for f in fronts]
    evidence = (
        f"two seeds of a baseline are at most {max(apart):.4f} apart in an accuracy, in the "
        f"median {np.median(apart):.4f}; the non-dominated part of a front spans "
        f"{listed(reach)}"
    )
    verdict = min(reach) > max(apart)
    return evidence, verdict or ("in part" if np.median(reach) > np.median(apart) else False)


@claim_on_both("Baselines do not consistently beat linear scalarisation", "5.1")
def _few_beat_ls(data: str, results: Results) -> tuple[str, Verdict]:
    found = baselines(results, DATA[data])
    ls = mean_best(found["ls"])
    better = [n for n in BEYOND_LS if n in found and (mean_best(found[n]) > ls).all()]
    rivals = len(found) - 1
    evidence = f"{len(better)} of {rivals} are better on both tasks, means over seeds" + (
        f": {', '.join(PRINTED[n] for n in better)}" if better else ""
    )
    return evidence, len(better) <= rivals / 2


@claim_on_both("Every point of the subspace is Pareto optimal (Claim 1)", "3.2")
def _claim_1(data: str, results: Results) -> tuple[str, Verdict]:
    runs, ls = results.seeds(f"{DATA[data]}/pamal"), results.one(f"{DATA[data]}/ls_seed_0")
    found = [
        claim_1.measure(run.front("test").on("loss"), ls.front("test").on("loss")) for run in runs
    ]
    counts = ", ".join(f"{f['non-dominated']}" for f in found)
    near = ", ".join(f"{f['by no neighbour']}" for f in found)
    evidence = (
        f"in loss {counts} of {found[0]['points']} points are non-dominated, {near} are not "
        "dominated by a neighbour"
    )
    whole = all(f["non-dominated"] == f["points"] for f in found)
    return evidence, whole or ("in part" if max(f["non-dominated"] for f in found) > 2 else False)


@claim_on_both("Most of the subspace is good at each task", "5.2, A2")
def _high_everywhere(data: str, results: Results) -> tuple[str, Verdict]:
    ls = mean_best(results.seeds(f"{DATA[data]}/ls"))
    fronts = [record.front("test") for record in results.seeds(f"{DATA[data]}/pamal")]
    near = [float((front.values > ls - 0.01).all(1).mean()) for front in fronts]
    evidence = (
        f"{listed([100 * share for share in near], 0)}% of the networks are within 0.01 of "
        "linear scalarisation on both tasks, or above it"
    )
    return evidence, min(near) > 0.5


@claim("Three tasks: the nearer to a member, the better its task (MultiMNIST3)", "5.2, Fig. 5")
def _three_digits(results: Results) -> tuple[str, Verdict]:
    fronts = [record.front("test") for record in results.seeds("multimnist3/pamal")]
    order = np.mean([front.spearman() for front in fronts], axis=0)
    evidence = f"rank correlation of alpha and accuracy over 66 points {listed(list(order), 2)}"
    return evidence, bool((order > 0.5).all()) or ("in part" if (order > 0).all() else False)


@claim("Three tasks: the best of the subspace is above linear scalarisation (MultiMNIST3)", "C3")
def _above_ls_on_three(results: Results) -> tuple[str, Verdict]:
    ours, ls = (mean_best(results.seeds(f"multimnist3/{name}")) for name in ("pamal", "ls"))
    above = int((ours > ls).sum())
    evidence = f"accuracies {listed(list(ours))}; linear scalarisation {listed(list(ls))}"
    return evidence, above == len(ls) or ("in part" if above else False)


@claim("With gradient balancing the faces' three tasks form a front (UTKFace)", "5.2, B3")
def _faces(results: Results) -> tuple[str, Verdict]:
    order = [record.front("test").competition() for record in results.seeds("utkface/pamal")]
    return f"mean rank correlation of two tasks {listed(order, 2)}", max(order) < 0


@claim("Gradient balancing lowers the loss on age (UTKFace)", "B3")
def _balancing(results: Results) -> tuple[str, Verdict]:
    """One draw a step either way, as in the paper's figure."""
    with_it, without = (results.seeds(f"utkface/pamal-{name}") for name in ("W=1", "none"))
    losses = [
        [record.summary["test"]["best"]["age/loss"] for record in records]
        for records in (with_it, without)
    ]
    evidence = f"{listed(losses[0])} with it, {listed(losses[1])} without"
    return evidence, max(losses[0]) < min(losses[1])


@claim("Depth as good as the best baseline's and segmentation above most (CityScapes)", "5.3")
def _streets(results: Results) -> tuple[str, Verdict]:
    ours = mean_best(results.seeds("cityscapes/pamal"))
    found = [mean_best(records) for records in baselines(results, "cityscapes").values()]
    above = float(np.mean([ours[0] > rival[0] for rival in found]))
    nearest = min(rival[1] for rival in found)
    evidence = (
        f"mIoU above {100 * above:.0f}% of baselines; depth {ours[1]:.4f}, best {nearest:.4f}"
    )
    return evidence, bool(above > 0.5 and ours[1] <= nearest + 0.0005)


def figure_4(results: Results, data: str) -> Figure:
    """Figure 4, left ("MultiMNIST") or right ("Census"), on test: PaMaL's front of each seed,
    every seed of every baseline, and a run of PHN and one of COSMOS with the settings of their
    authors, as far as there are records.
    NotRunError without PaMaL, LS or single-task learning."""
    folder = DATA[data]
    ours = [record.front("test") for record in results.seeds(f"{folder}/pamal")]
    found = baselines(results, folder)
    points = {
        PRINTED[name]: [record.front("test") for record in found.get(name, [])]
        for name in ONE_NETWORK
    }
    rivals = {}
    for name in ("phn", "cosmos"):
        with contextlib.suppress(NotRunError):
            rivals[PRINTED[name]] = results.one(f"{folder}/{name}_seed_0").front("test")
    single = [float(mean_best(results.seeds(f"{folder}/stl-{task}"))[0]) for task in (0, 1)]
    counts = sorted({len(runs) for runs in points.values() if runs})
    seeds = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
    provenance = f"{data}, full data, test. Baselines: {seeds} seeds each."
    if rivals:
        provenance += f" {' and '.join(rivals)}: one seed, the setting of their authors."
    return seeds_figure(ours, points, single, provenance, rivals)
