"""The claims of the paper, in its words or close to them, and its place for each.

A number of ours that decides one, such as a margin or "most", is said to be ours in the evidence.
"""

from functools import partial
from math import inf

from pamal_companion.study.claim import Claim, baselines
from pamal_companion.study.frame import Away, Near, OfSeeds, Setting, setting
from pamal_companion.study.paper import DATA, ONE_NETWORK, PRINTED
from pamal_companion.study.tables import rows

multimnist, census, multimnist3, utkface, cityscapes, toy = (
    partial(setting, data)
    for data in ("multimnist", "census", "multimnist3", "utkface", "cityscapes", "toy")
)
front = partial(Claim, split="validation")
alike = partial(Claim, measures=["cosine of the members"])
at_depth = partial(Claim, measures=["depth/absolute error"], low=-inf)
covering = partial(Claim, measures=["covering pairs"])

AS_PRINTED = {"penalty": "printed", "skip": "as_released"}
"""The sign of the penalty as in print, and when the authors' code skips it."""
MULTIMNIST, CENSUS, MULTIMNIST3 = multimnist("pamal"), census("pamal"), multimnist3("pamal")
UTKFACE, CITYSCAPES = utkface("pamal"), cityscapes("pamal")
PRINTED_CENSUS, NO_PENALTY_CENSUS = census("pamal", **AS_PRINTED), census("pamal", lam=0)
MULTIMNIST_1, CENSUS_1 = multimnist("pamal", W=1), census("pamal", W=1, lam=0)
UTKFACE_1 = utkface("pamal", W=1, p=1)
"""PaMaL with one draw a step."""
PHN_MULTIMNIST, COSMOS_MULTIMNIST = multimnist("phn", p=0.5), multimnist("cosmos", p=5, lam=1)
PHN_CENSUS = census("phn", p=0.1, solver="epo", lr=0.0001)
COSMOS_CENSUS = census("cosmos", p=2, lam=0.1, lr=0.0001)
"""The settings at which PHN and COSMOS have the largest hypervolume in print; beside them, with
S < -0.6."""
SWEPT_MULTIMNIST = [PHN_MULTIMNIST, COSMOS_MULTIMNIST, multimnist("cosmos", p=0.1, lam=1)]
SWEPT_CENSUS = [PHN_CENSUS, census("phn", p=0.01, lr=0.0001), COSMOS_CENSUS]
SWEPT_CENSUS += [census("cosmos", p=1, lam=5)]
FAVOURING = ("LS", "UW", "DWA", "RLW", "PCGrad", "IMTL-G", "GradDrop", "CAGrad")
"""The baselines of the toy problem that favour the task with the larger loss."""


def others_of_the_table(data: "partial[Setting]", best: Setting, **sign: str) -> list[Setting]:
    """Return each W and lambda of Table 2 or 3 but for the `best`; a penalty has this `sign`."""
    grid = [(W, lam) for W in (2, 3, 4, 5) for lam in (0, 2, 5, 10)]
    every = [data("pamal", W=W, lam=lam, **(sign if lam else {})) for W, lam in grid]
    return [one for one in every if one != best]


def of_sign(said: str, **sign: str) -> dict[str, Claim]:
    """Return the claims on the penalty that have its `sign`, which is `said` at their end."""
    return {
        "A penalty of lambda = 10 can make the front worse, at the same W, with the sign "
        f"{said}: MultiMNIST": front(
            "B1, Table 2",
            [multimnist("pamal", W=W) for W in (2, 3, 4, 5)],
            [multimnist("pamal", lam=10, W=W, **sign) for W in (2, 3, 4, 5)],
            need="any",
        ),
        "If W is 2 or 3, a penalty of lambda = 5 or 10 makes the front worse, with the sign "
        f"{said}: MultiMNIST": front(
            "B1, Fig. 11",
            [multimnist("pamal", W=W) for W in (2, 2, 3, 3)],
            [multimnist("pamal", W=W, lam=lam, **sign) for W in (2, 3) for lam in (5, 10)],
        ),
        "With a penalty five draws per step (W = 5) are better than two, with the sign "
        f"{said}: MultiMNIST": front(
            "B1, Fig. 11",
            [multimnist("pamal", W=5, lam=lam, **sign) for lam in (2, 5, 10)],
            [multimnist("pamal", W=2, lam=lam, **sign) for lam in (2, 5, 10)],
        ),
        "Five draws per step (W = 5) are worse than two, at every lambda, with the sign "
        f"{said}: Census": front(
            "B1, Fig. 12",
            [NO_PENALTY_CENSUS, *(census("pamal", lam=lam, **sign) for lam in (2, 5, 10))],
            [
                census("pamal", W=5, lam=0),
                *(census("pamal", W=5, lam=lam, **sign) for lam in (2, 5, 10)),
            ],
        ),
        "The penalty brings losses into order, W = 4, lambda = 5 against 0, with the sign "
        f"{said}: MultiMNIST": Claim(
            "4.2, Fig. 3", [multimnist("pamal", lam=5, **sign)], [MULTIMNIST], measures=["order"]
        ),
        "The penalty brings losses into order, W = 2, lambda = 5 against 0, with the sign "
        f"{said}: Census": Claim(
            "4.2, Fig. 3", [census("pamal", **sign)], [NO_PENALTY_CENSUS], measures=["order"]
        ),
    }


CLAIMS: dict[str, Claim] = {
    "Most points of one run are non-dominated: MultiMNIST": Claim(
        "abstract, 5.1", [MULTIMNIST], measures=["non-dominated"], low=0.5
    ),
    "Most points of one run are non-dominated: Census": Claim(
        "abstract, 5.1", [CENSUS], measures=["non-dominated"], low=0.5
    ),
    "Most points of one run are non-dominated: MultiMNIST3": Claim(
        "5.2, Fig. 5", [MULTIMNIST3], measures=["non-dominated"], low=0.5
    ),
    "No point of one run dominates another in loss (Claim 1): MultiMNIST3": Claim(
        "5.2, Claim 1", [MULTIMNIST3], measures=["non-dominated in loss"], low=0.95
    ),
    "No point of one run dominates its neighbour in loss (Claim 1, relaxed): MultiMNIST": Claim(
        "4.1, Claim 1", [MULTIMNIST], measures=["dominated by no neighbour in loss"], low=0.95
    ),
    "No point of one run dominates its neighbour in loss (Claim 1, relaxed): Census": Claim(
        "4.1, Claim 1", [CENSUS], measures=["dominated by no neighbour in loss"], low=0.95
    ),
    "The nearer a network is to a member, the better it is at the member's task: MultiMNIST": Claim(
        "1, 4.1", [MULTIMNIST], measures=["order of objectives"], low=0.5
    ),
    "The nearer a network is to a member, the better it is at the member's task: Census": Claim(
        "1, 4.1", [CENSUS], measures=["order of objectives"], low=0.5
    ),
    "The nearer a network is to a member, the better it is at the member's "
    "task: MultiMNIST3": Claim(
        "5.2, Fig. 5", [MULTIMNIST3], measures=["order of objectives"], low=0.5
    ),
    "PaMaL's front has a larger hypervolume than three seeds of any baseline "
    "together: MultiMNIST": Claim(
        "5.1, C2, Table 9", [MULTIMNIST], baselines, their_measure=OfSeeds("hypervolume", 3)
    ),
    "PaMaL's front has a larger hypervolume than three seeds of any baseline "
    "together: Census": Claim(
        "5.1, C2, Table 9", [CENSUS], baselines, their_measure=OfSeeds("hypervolume", 3)
    ),
    "The best accuracy of PaMaL's front on each task is above that of every "
    "baseline: MultiMNIST": Claim("C2, Table 9", [MULTIMNIST], baselines, measures=["objectives"]),
    "The best accuracy of PaMaL's front on each task is above that of every "
    "baseline: Census": Claim("C2, Table 9", [CENSUS], baselines, measures=["objectives"]),
    **{
        "The ends of one front are further apart than two seeds of most baselines: "
        f"{DATA[ours.experiment]}": Claim(
            "5.1, Fig. 4",
            [ours],
            baselines,
            measures=["span"],
            their_measure=OfSeeds("distance", 2),
            need="most",
        )
        for ours in (MULTIMNIST, CENSUS)
    },
    "Most baselines do not consistently outperform linear scalarisation: MultiMNIST": Claim(
        "5.1", [multimnist("ls")], baselines, low=-0.002, need="most"
    ),
    "Most baselines do not consistently outperform linear scalarisation: Census": Claim(
        "5.1", [census("ls")], baselines, low=-0.002, need="most"
    ),
    "Most networks of one run are within 0.005 of linear scalarisation on "
    "each task: MultiMNIST3": Claim(
        "5.2", [MULTIMNIST3], measures=[Near(0.005, multimnist3("ls"))], low=0.5
    ),
    **{
        "No barrier lies between the members: the network in the middle is as good as linear "
        f"scalarisation: {DATA[ours.experiment]}": Claim(
            "1, 5.2",
            [ours],
            [setting(ours.experiment, "ls")],
            measures=["centre"],
            their_measure="mean of objectives",
            low=low,
        )
        for ours, low in ((MULTIMNIST, -0.005), (CENSUS, -0.001), (MULTIMNIST3, -0.005))
    },
    **{
        f"PaMaL's front has a larger hypervolume than {PRINTED[method]} in every setting that "
        f"the paper tried: {DATA[ours.experiment]}": Claim(
            f"abstract, B4, {place}", [ours], [*rows(f"{method}_{ours.experiment}")]
        )
        for method, ours, place in (
            ("phn", MULTIMNIST, "Table 7"),
            ("phn", CENSUS, "Table 6"),
            ("cosmos", MULTIMNIST, "Table 5"),
            ("cosmos", CENSUS, "Table 8"),
        )
    },
    **{
        "PaMaL's front is better in order than PHN and COSMOS, in the settings that are best for "
        f"them in the paper: {DATA[ours.experiment]}": front(
            "abstract, 5.1", [ours], [phn, cosmos], measures=["order in metrics"]
        )
        for ours, phn, cosmos in (
            (MULTIMNIST, PHN_MULTIMNIST, COSMOS_MULTIMNIST),
            (CENSUS, PHN_CENSUS, COSMOS_CENSUS),
        )
    },
    "PaMaL's front is longer than PHN's, in the setting that is best for PHN "
    "in the paper: MultiMNIST": Claim(
        "5.1, Fig. 4", [MULTIMNIST], [PHN_MULTIMNIST], measures=["span"]
    ),
    "PaMaL's front is longer than PHN's, in the setting that is best for PHN "
    "in the paper: Census": Claim("5.1, Fig. 4", [CENSUS], [PHN_CENSUS], measures=["span"]),
    **{
        "In its best setting in the paper, COSMOS is not better at a task that has more weight: "
        f"{DATA[best.experiment]}": front(
            "5.1, B4, Fig. 19", [best], measures=["order in metrics"], low=-inf, high=0.5
        )
        for best in (COSMOS_MULTIMNIST, COSMOS_CENSUS)
    },
    "In its best setting in the paper, PHN has no trade-off: Census": front(
        "5.1, B4, Fig. 19", [PHN_CENSUS], measures=["competition"], low=-0.5
    ),
    "COSMOS has a trade-off (S < -0.6) only at a lower hypervolume: MultiMNIST": front(
        "5.1, B4, Fig. 19", [COSMOS_MULTIMNIST], [multimnist("cosmos", p=0.1, lam=1)]
    ),
    "COSMOS has a trade-off (S < -0.6) only at a lower hypervolume: Census": front(
        "5.1, B4, Fig. 19", [COSMOS_CENSUS], [census("cosmos", p=1, lam=5)]
    ),
    "PHN has a trade-off (S < -0.6) only at a lower hypervolume: Census": front(
        "5.1, B4, Fig. 19", [PHN_CENSUS], [census("phn", p=0.01, lr=0.0001)]
    ),
    **{
        "PHN and COSMOS trade tasks off more clearly in loss than in accuracy: "
        f"{DATA[swept[0].experiment]}": front(
            "5.1, B4, Fig. 19",
            swept,
            swept,
            measures=["competition in loss"],
            their_measure="competition",
        )
        for swept in (SWEPT_MULTIMNIST, SWEPT_CENSUS)
    },
    "W = 4, lambda = 0 is the best setting of the paper's table, with the "
    "sign as printed: MultiMNIST": front(
        "5.1, B1, Table 2", [MULTIMNIST], others_of_the_table(multimnist, MULTIMNIST, **AS_PRINTED)
    ),
    "W = 4, lambda = 0 is the best setting of the paper's table, with the "
    "sign of the text: MultiMNIST": front(
        "5.1, B1, Table 2", [MULTIMNIST], others_of_the_table(multimnist, MULTIMNIST)
    ),
    "W = 2, lambda = 5 is the best setting of the paper's table, with the "
    "sign as printed: Census": front(
        "5.1, B1, Table 3",
        [PRINTED_CENSUS],
        others_of_the_table(census, PRINTED_CENSUS, **AS_PRINTED),
    ),
    "W = 2, lambda = 5 is the best setting of the paper's table, with the "
    "sign of the text: Census": front(
        "5.1, B1, Table 3", [CENSUS], others_of_the_table(census, CENSUS)
    ),
    "Four draws per step are better than one: MultiMNIST": front(
        "4.2, B1, Fig. 11", [MULTIMNIST], [MULTIMNIST_1]
    ),
    "Without a penalty several draws per step are better than one, for every W: MultiMNIST": front(
        "B1, Table 2", [multimnist("pamal", W=W) for W in (2, 3, 4, 5)], [MULTIMNIST_1]
    ),
    "Without a penalty several draws per step are not better than one, for any W: Census": front(
        "B1, Table 3", [CENSUS_1], [census("pamal", lam=0, W=W) for W in (2, 3, 4, 5)], low=-0.001
    ),
    "Two draws per step with a penalty (W = 2, lambda = 5) are better than "
    "one draw, with the sign as printed: Census": front(
        "4.2, B1, Fig. 12", [PRINTED_CENSUS], [CENSUS_1]
    ),
    "Two draws per step with a penalty (W = 2, lambda = 5) are better than "
    "one draw, with the sign of the text: Census": front("4.2, B1, Fig. 12", [CENSUS], [CENSUS_1]),
    "If W is 2, a penalty of lambda = 5 makes the front better, with the sign "
    "as printed: Census": front("B1, Table 3", [PRINTED_CENSUS], [NO_PENALTY_CENSUS]),
    "If W is 2, a penalty of lambda = 5 makes the front better, with the sign "
    "of the text: Census": front("B1, Table 3", [CENSUS], [NO_PENALTY_CENSUS]),
    **of_sign("as printed", **AS_PRINTED),
    **of_sign("of the text"),
    "Few pairs of points are out of order without a penalty: MultiMNIST": Claim(
        "B1", [MULTIMNIST], measures=["ordered pairs"], low=0.9
    ),
    "With p = 0 the middle predicts at random: MultiMNIST": Claim(
        "A1, Fig. 7", [MULTIMNIST_1.having(p=0)], measures=["centre"], low=-inf, high=0.2
    ),
    "With p = 0 the middle is worse than with p = 1: Census": Claim(
        "A1", [CENSUS_1], [CENSUS_1.having(p=0)], measures=["centre"], low=0.01
    ),
    "With p = 0 the members have nothing in common, cosine near 0: MultiMNIST": alike(
        "A1, Fig. 7", [MULTIMNIST_1.having(p=0)], low=-0.05, high=0.05
    ),
    "With p = 0.1 the middle is worse than with p = 100: MultiMNIST": Claim(
        "A1, Fig. 7",
        [MULTIMNIST_1.having(p=100)],
        [MULTIMNIST_1.having(p=0.1)],
        measures=["centre"],
    ),
    "With p = 0.1 the front is longer than with p = 100: MultiMNIST": Claim(
        "A1, Fig. 7", [MULTIMNIST_1.having(p=0.1)], [MULTIMNIST_1.having(p=100)], measures=["span"]
    ),
    **{
        f"The larger p, the more alike the members: {DATA[one_draw.experiment]}": alike(
            "A1, Fig. 7",
            [one_draw.having(p=p) for p in (0, 0.1, 1)],
            [one_draw.having(p=p) for p in (0.1, 1, 100)],
        )
        for one_draw in (MULTIMNIST_1, CENSUS_1)
    },
    "With p = 100 the members have a cosine above 0.9: Census": alike(
        "A1, Fig. 7", [CENSUS_1.having(p=100)], low=0.9
    ),
    "With p = 100 the front is smaller than with p = 0.1: Census": Claim(
        "A1, Fig. 7", [CENSUS_1.having(p=0.1)], [CENSUS_1.having(p=100)]
    ),
    **{
        f"With p = {said} than with p = 1: {DATA[one_draw.experiment]}": Claim(
            "A1",
            [one_draw.having(p=p) for p in above],
            [one_draw.having(p=p) for p in below],
            measures=[measure],
        )
        for said, above, below, measure in (
            ("100 the front is shorter", (1,), (100,), "span"),
            ("0.7 the middle is worse", (1,), (0.7,), "centre"),
            ("2 or 3 the middle is better", (2, 3), (1,), "centre"),
            ("2 or 3 the front is shorter", (1,), (2, 3), "span"),
        )
        for one_draw in (MULTIMNIST_1, CENSUS_1)
    },
    "PaMaL is the best multi-task method on each task: MultiMNIST3": Claim(
        "C3, Table 10", [MULTIMNIST3], baselines, measures=["objectives"]
    ),
    "PaMaL is on a par with every baseline on each task: MultiMNIST3": Claim(
        "6, C3, Table 10", [MULTIMNIST3], baselines, measures=["objectives"], low=-0.005
    ),
    "The best of PaMaL's front is above linear scalarisation on each task: MultiMNIST3": Claim(
        "C3, Table 10", [MULTIMNIST3], [multimnist3("ls")], measures=["objectives"]
    ),
    "Most points of one run are non-dominated: UTKFace": Claim(
        "5.2, Fig. 5", [UTKFACE], measures=["non-dominated"], low=0.5
    ),
    "The nearer a network is to a member, the lower its loss on the member's task: UTKFace": Claim(
        "5.2, Fig. 5", [UTKFACE], measures=["order"], low=-inf, high=-0.5
    ),
    "Most networks of one run are within 0.005 of linear scalarisation on "
    "each task: UTKFace": Claim("5.2", [UTKFACE], measures=[Near(0.005, utkface("ls"))], low=0.5),
    "PaMaL has a lower loss on age than every baseline: UTKFace": Claim(
        "B3, Table 4", [UTKFACE], baselines, measures=["age/loss"]
    ),
    "PaMaL is ahead of PHN and COSMOS on every task: UTKFace": Claim(
        "B3, Table 4",
        [UTKFACE],
        [utkface("phn", chunk=10000), utkface("cosmos")],
        measures=["objectives"],
    ),
    "Gradient balancing lowers PaMaL's loss on age: UTKFace": Claim(
        "B3, Fig. 18", [UTKFACE_1], [UTKFACE_1.having(balancing="none")], measures=["age/loss"]
    ),
    "Gradient balancing makes PaMaL better on every task: UTKFace": Claim(
        "B3, Fig. 18", [UTKFACE_1], [UTKFACE_1.having(balancing="none")], measures=["objectives"]
    ),
    "Gradient balancing brings PaMaL's losses into order: UTKFace": Claim(
        "B3, Fig. 18", [UTKFACE_1], [UTKFACE_1.having(balancing="none")], measures=["order"]
    ),
    "PaMaL's error on depth is within 5 % of every baseline's: CityScapes": at_depth(
        "5.3, Table 1", [CITYSCAPES], baselines, high=1.05, of_ratio=True
    ),
    "PaMaL's error on depth is within 5 % of every baseline's, without "
    "validation data: CityScapes": at_depth(
        "C4, Table 11",
        [cityscapes("pamal", setting="I")],
        [cityscapes(method, setting="I") for method in ONE_NETWORK],
        high=1.05,
        of_ratio=True,
    ),
    "PaMaL is better at segmentation than most baselines: CityScapes": Claim(
        "5.3, Table 1", [CITYSCAPES], baselines, measures=["segmentation/mIoU"], need="most"
    ),
    "MGDA is the worst of the baselines at segmentation: CityScapes": Claim(
        "5.3, C4", [cityscapes("mgda")], baselines, measures=["segmentation/mIoU"], low=-inf, high=0
    ),
    "COSMOS is worse at depth than every baseline: CityScapes": at_depth(
        "5.3, C4", [cityscapes("cosmos")], baselines, high=0
    ),
    "PaMaL is ahead in most comparisons with a baseline, on both tasks: CityScapes": Claim(
        "5.3", [CITYSCAPES], baselines, measures=["objectives"], need="most"
    ),
    "More training images are better on both tasks: CityScapes": Claim(
        "C4", [cityscapes("pamal", setting="I")], [CITYSCAPES], measures=["objectives"]
    ),
    "Equal scales: 21 or 22 of 25 pairs, give or take one, find the whole front": covering(
        "Fig. 1, B2, Fig. 14", [toy("all")], split="PaMaL, c = 1", low=20, high=23
    ),
    "Equal scales, four times the steps: every pair finds the whole front": covering(
        "B2, Fig. 14", [toy("pamal", balancing="none", epochs=200)], split="PaMaL, c = 1", low=24.5
    ),
    "Equal scales, twice the rate: every pair finds the whole front": covering(
        "B2, Fig. 14", [toy("pamal", balancing="none", lr=0.004)], split="PaMaL, c = 1", low=24.5
    ),
    "Unequal scales: no pair finds the whole front without balancing": covering(
        "4.2, B2, Fig. 15", [toy("all")], split="PaMaL, c = 0.1", low=-inf, high=0.5
    ),
    "Unequal scales: three quarters of the pairs find a part of the front without balancing": Claim(
        "B2, Fig. 15", [toy("all")], measures=["pairs on a part"], split="PaMaL, c = 0.1", low=18.75
    ),
    "Unequal scales: with gradient balancing every pair finds the whole front": covering(
        "4.2, B2, Fig. 16", [toy("all")], split="PaMaL, c = 0.1, gradient balancing", low=24.5
    ),
    "Unequal scales: with loss balancing 20 of 25 pairs, give or take one, find the "
    "whole front": covering(
        "4.2, B2, Fig. 17", [toy("all")], split="PaMaL, c = 0.1, loss balancing", low=19, high=21
    ),
    "Equal scales: most baselines miss the front from one of five starts or more": Claim(
        "4.1, Fig. 1",
        [toy("baselines")],
        measures=[f"ends on the front of {name}" for name in (*FAVOURING, "MGDA", "Nash-MTL")],
        split="c = 1",
        low=-inf,
        high=4.5,
        need="most",
    ),
    "Unequal scales: every baseline but MGDA and Nash-MTL favours the task with the "
    "larger loss": Claim(
        "B2, Fig. 13",
        [toy("baselines")],
        measures=[f"ends at task 2 of {name}" for name in FAVOURING],
        split="c = 0.1",
        low=0.7,
    ),
    **{
        f"Unequal scales: {name} favours neither task": Claim(
            "B2, Fig. 13",
            [toy("baselines")],
            measures=[f"ends at task 2 of {name}"],
            split="c = 0.1",
            low=0.3,
            high=0.7,
        )
        for name in ("Nash-MTL", "MGDA")
    },
    **{
        "One run with one draw a step costs little more than one of linear scalarisation, in "
        f"passes and in memory of the process: {DATA[one_draw.experiment]}": Claim(
            "abstract, 1",
            [one_draw],
            [setting(one_draw.experiment, "ls")],
            measures=["passes", "peak memory"],
            low=-inf,
            high=1.5,
            of_ratio=True,
        )
        for one_draw in (MULTIMNIST_1, CENSUS_1)
    },
    **{
        f"PHN has about 100 times the weights of the network that it makes: {DATA[data]}": Claim(
            "5.1, B4",
            [setting(data, "phn")],
            [setting(data, "ls")],
            measures=["weights"],
            low=90,
            high=110,
            of_ratio=True,
        )
        for data in ("multimnist", "census")
    },
    "More draws per step make the hypervolume vary less over seeds: MultiMNIST": front(
        "4.2",
        [multimnist("pamal", W=W) for W in (2, 3, 4, 5)],
        [MULTIMNIST_1],
        measures=[Away("hypervolume")],
    ),
    "Without a penalty fewer pairs of points are out of order than on Census: MultiMNIST": front(
        "B1", [MULTIMNIST], [NO_PENALTY_CENSUS], measures=["ordered pairs"]
    ),
    "With one draw per step (W = 1), PaMaL's front has a larger hypervolume "
    "than three seeds of any baseline together: Census": Claim(
        "B1, Fig. 12", [CENSUS_1], baselines, their_measure=OfSeeds("hypervolume", 3)
    ),
    "Every seed of PaMaL has a larger hypervolume than three seeds of any "
    "baseline together: MultiMNIST": Claim(
        "C2, Table 9",
        [MULTIMNIST],
        baselines,
        measures=[OfSeeds("least hypervolume", 3)],
        their_measure=OfSeeds("hypervolume", 3),
        in_print="Auto-lambda has 0.918, a seed of PaMaL 0.916: it is not so in print",
    ),
    "Every seed of PaMaL has a larger hypervolume than three seeds of any "
    "baseline together: Census": Claim(
        "C2, Table 9",
        [CENSUS],
        baselines,
        measures=[OfSeeds("least hypervolume", 3)],
        their_measure=OfSeeds("hypervolume", 3),
    ),
}
