"""Tell what our runs say beyond the paper; `where` is the section of the page with the evidence.

Two settings that are compared have the word ahead, behind, level or open. All rows are exploratory:
their intervals are not corrected.
"""

from functools import partial
from math import inf

from pamal_companion.study.claim import Claim, baselines
from pamal_companion.study.frame import Near, setting
from pamal_companion.study.paper import DATA, ONE_NETWORK, PRINTED

multimnist, census, multimnist3 = (
    partial(setting, data) for data in ("multimnist", "census", "multimnist3")
)
streets = partial(
    setting,
    "cityscapes",
    data="sample",
    epochs=11,
    width=8,
    batch_size=20,
    lr=0.004,
    batch_norm="recalibrated",
)
small_utkface = partial(
    setting, "utkface", width=16, stem="torchvision", split="paper", epochs=10, batch_norm="both"
)
front = partial(Claim, split="validation", of_two=True)
chosen = partial(Claim, "chosen", measures=["chosen hypervolume"], split="test", of_two=True)
reduced = partial(Claim, "reduced", split="test, recalibrated")
undominated = partial(
    Claim, "seen", measures=["non-dominated in loss"], split="validation", low=0.95
)

MULTIMNIST, CENSUS = multimnist("pamal"), census("pamal")
STRATIFIED = multimnist("pamal", draws="stratified", average=0.99)
LONG, SOUP = multimnist("pamal", W=1, epochs=40), multimnist("soup", epochs=30, shared_epochs=20)
SHORT_SOUP = multimnist("soup", epochs=7, shared_epochs=4)
LS_LONG = multimnist("ls", epochs=40)
AVERAGED_CENSUS = census("pamal", lr=0.0003, average=0.999)
AVERAGED_LS = census("ls", lr=0.0003, average=0.999)
OVERFITTING = ("ls", "rlw", "nash_mtl")
STREETS = streets("pamal", p=0.5)
UTKFACE, UTKFACE_1 = small_utkface("pamal"), small_utkface("pamal", W=1, p=1)

FINDINGS: dict[str, Claim] = {
    "MultiMNIST, rate 0.001: PaMaL's front against LS": front(
        "rates", [multimnist("pamal", lr_scaling="plain")], [multimnist("ls")]
    ),
    "MultiMNIST, rate 0.002: PaMaL's front against LS": front(
        "rates", [MULTIMNIST], [multimnist("ls", lr=0.002)]
    ),
    "MultiMNIST, rate 0.004: PaMaL's front against LS": front(
        "rates", [multimnist("pamal", lr=0.002)], [multimnist("ls", lr=0.004)]
    ),
    "MultiMNIST, the paper's rates: PaMaL's front against LS": front(
        "rates", [MULTIMNIST], [multimnist("ls")]
    ),
    "MultiMNIST: PaMaL at twice the paper's rate against PaMaL at that rate": front(
        "rates", [multimnist("pamal", lr=0.002)], [MULTIMNIST]
    ),
    "MultiMNIST, equal passes: one network of LS against PaMaL's front": front(
        "cost", [LS_LONG], [MULTIMNIST]
    ),
    "MultiMNIST, equal passes, on test: one network of LS against PaMaL's front": front(
        "cost", [LS_LONG], [MULTIMNIST], split="test"
    ),
    "MultiMNIST, equal passes: with stratified draws and an EMA of the weights PaMaL's "
    "front against LS": front("cost", [STRATIFIED], [LS_LONG]),
    "MultiMNIST, equal passes, both with an EMA: PaMaL's front with stratified draws "
    "against LS": front("cost", [STRATIFIED], [LS_LONG.having(average=0.99)]),
    "MultiMNIST, equal passes, each at its best rate with an EMA: PaMaL with stratified "
    "draws against LS": front(
        "cost", [STRATIFIED.having(lr=0.002)], [LS_LONG.having(average=0.99, lr=0.002)]
    ),
    "MultiMNIST: PaMaL with an EMA of the weights against PaMaL without": front(
        "tricks", [multimnist("pamal", average=0.99)], [MULTIMNIST]
    ),
    "MultiMNIST: PaMaL with stratified draws against independent ones, both with an EMA": front(
        "tricks", [STRATIFIED], [multimnist("pamal", average=0.99)]
    ),
    "Census, the paper's rates: PaMaL's front against LS": front("rates", [CENSUS], [census("ls")]),
    "Census, rate 0.002: PaMaL's front against LS": front(
        "rates", [CENSUS], [census("ls", lr=0.002)]
    ),
    "Census, each at the best rate tried: PaMaL's front against LS": front(
        "rates", [census("pamal", lr=0.0003)], [census("ls", lr=0.0003)]
    ),
    "Census, equal passes: PaMaL's front against LS": front(
        "cost", [CENSUS], [census("ls", epochs=20)]
    ),
    "Census, equal passes, on test: PaMaL's front against LS": front(
        "cost", [CENSUS], [census("ls", epochs=20)], split="test"
    ),
    "Census, the best rates and an EMA: W = 4, λ = 10 against LS": front(
        "tricks", [AVERAGED_CENSUS.having(W=4, lam=10)], [AVERAGED_LS]
    ),
    "MultiMNIST3, rate 0.001: PaMaL's front against LS": front(
        "rates", [multimnist3("pamal")], [multimnist3("ls")]
    ),
    "MultiMNIST3, rate 0.003: PaMaL's front against LS": front(
        "rates", [multimnist3("pamal", lr_scaling="members")], [multimnist3("ls", lr=0.003)]
    ),
    "MultiMNIST, rate 0.001: the network of PaMaL chosen on validation against LS, on test": chosen(
        [multimnist("pamal", lr_scaling="plain")], [multimnist("ls")]
    ),
    "MultiMNIST, rate 0.002: the network of PaMaL chosen on validation against LS, on test": chosen(
        [MULTIMNIST], [multimnist("ls", lr=0.002)]
    ),
    "MultiMNIST, rate 0.004: the network of PaMaL chosen on validation against LS, on test": chosen(
        [multimnist("pamal", lr=0.002)], [multimnist("ls", lr=0.004)]
    ),
    "MultiMNIST, the paper's rates: the network of PaMaL chosen on validation against "
    "LS, on test": chosen([MULTIMNIST], [multimnist("ls")]),
    "MultiMNIST, equal passes: the network of PaMaL chosen on validation against LS, "
    "on test": chosen([MULTIMNIST], [LS_LONG]),
    "MultiMNIST, 40 passes, with an EMA: the network of PaMaL with W = 1 chosen on "
    "validation against LS, on test": chosen(
        [LONG.having(average=0.99)], [LS_LONG.having(average=0.99)]
    ),
    "MultiMNIST, equal passes, an EMA and the best rate for both: the network "
    "of PaMaL chosen on validation against LS, on test": chosen(
        [STRATIFIED.having(lr=0.002)], [LS_LONG.having(average=0.99, lr=0.002)]
    ),
    "Census, the paper's rates: the network of PaMaL chosen on validation against "
    "LS, on test": chosen([CENSUS], [census("ls")]),
    "MultiMNIST3, rate 0.001: the network of PaMaL chosen on validation against LS, "
    "on test": chosen([multimnist3("pamal")], [multimnist3("ls")]),
    "MultiMNIST, equal passes and equal steps: PaMaL's front against LS with "
    "a batch four times as large": front(
        "cost", [MULTIMNIST], [multimnist("ls", epochs=40, batch_size=1024)]
    ),
    "MultiMNIST: LS against LS with an EMA over a thousand steps": front(
        "tricks", [multimnist("ls")], [multimnist("ls", average=0.999)]
    ),
    "MultiMNIST: LS at PaMaL's rate against LS at its own": front(
        "rates", [multimnist("ls", lr=0.002)], [multimnist("ls")]
    ),
    "MultiMNIST, 40 epochs, with an EMA: LS at 0.002 against LS at 0.001": front(
        "rates", [LS_LONG.having(average=0.99, lr=0.002)], [LS_LONG.having(average=0.99)]
    ),
    "MultiMNIST3: LS at three times the rate against LS at its own": front(
        "rates", [multimnist3("ls", lr=0.003)], [multimnist3("ls")]
    ),
    "Census: LS, RLW and Nash-MTL, each against itself with twice the epochs": front(
        "cost",
        [census(method) for method in OVERFITTING],
        [census(method, epochs=20) for method in OVERFITTING],
    ),
    "Census, with an EMA, each at its best rate tried: PaMaL with W = 2 against LS": front(
        "tricks", [AVERAGED_CENSUS], [AVERAGED_LS]
    ),
    "Census: LS at a lower rate against LS at its own": front(
        "rates", [census("ls", lr=0.0003)], [census("ls")]
    ),
    "Census: PaMaL at a lower rate against PaMaL at its own": front(
        "rates", [census("pamal", lr=0.0003)], [CENSUS]
    ),
    "Census, the best rates and an EMA: LS against LS with twice the epochs": front(
        "cost", [AVERAGED_LS], [AVERAGED_LS.having(epochs=20)]
    ),
    "Census, the order of the front's losses: with an EMA of the weights against without": front(
        "tricks", [census("pamal", average=0.999)], [CENSUS], measures=["order"]
    ),
    "MultiMNIST, 10 passes: PaMaL with W = 1 against a soup": front(
        "cost", [multimnist("pamal", W=1)], [SHORT_SOUP]
    ),
    "MultiMNIST, 10 passes, with an EMA: PaMaL with W = 1 against a soup": front(
        "cost", [multimnist("pamal", W=1, average=0.99)], [SHORT_SOUP.having(average=0.99)]
    ),
    "MultiMNIST, 40 passes: PaMaL with W = 1 against PaMaL with W = 4": front(
        "cost", [LONG], [MULTIMNIST]
    ),
    "MultiMNIST, 40 passes: PaMaL with W = 1 against LS": front("cost", [LONG], [LS_LONG]),
    "MultiMNIST, 40 passes: a soup against PaMaL with W = 4": front("cost", [SOUP], [MULTIMNIST]),
    "MultiMNIST, 40 passes: a soup against PaMaL with W = 1": front("cost", [SOUP], [LONG]),
    "MultiMNIST, 40 passes: a soup against LS": front("cost", [SOUP], [LS_LONG]),
    "MultiMNIST, 40 passes, with an EMA: PaMaL with W = 1 against PaMaL with W = 4": front(
        "cost", [LONG.having(average=0.99)], [multimnist("pamal", average=0.99)]
    ),
    "MultiMNIST, 40 passes, with an EMA: PaMaL with W = 1 against LS": front(
        "cost", [LONG.having(average=0.99)], [LS_LONG.having(average=0.99)]
    ),
    "MultiMNIST, 40 passes, with an EMA: a soup against PaMaL with W = 1": front(
        "cost", [SOUP.having(average=0.99)], [LONG.having(average=0.99)]
    ),
    "MultiMNIST, 40 passes, equal rates: a soup against PaMaL with W = 1": front(
        "cost", [SOUP.having(lr=0.002)], [LONG]
    ),
    "Census, 10 passes: PaMaL with W = 1 against a soup": front(
        "cost", [census("pamal", W=1, lam=0)], [census("soup", epochs=7, shared_epochs=4)]
    ),
    "Census, 20 passes: a soup against PaMaL with W = 2": front(
        "cost", [census("soup", epochs=15, shared_epochs=10)], [CENSUS]
    ),
    "Census, 20 passes: PaMaL with W = 1 against PaMaL with W = 2": front(
        "cost", [census("pamal", W=1, lam=0, epochs=20)], [CENSUS]
    ),
    "Census, 20 passes, with an EMA: a soup against PaMaL with W = 2": front(
        "cost",
        [census("soup", epochs=15, shared_epochs=10, average=0.999)],
        [census("pamal", average=0.999)],
    ),
    **{
        f"CityScapes, drawn streets: PaMaL's front against {PRINTED[method]}, on test": front(
            "sample", [STREETS], [streets(method)], split="test"
        )
        for method in ("ls", "uw", "mgda")
    },
    "CityScapes, drawn streets, mIoU: the network of PaMaL chosen on validation against "
    "LS, on test": front(
        "sample", [STREETS], [streets("ls")], measures=["chosen segmentation/mIoU"], split="test"
    ),
    "MultiMNIST: PHN tuned on one seed, p = 2, against PaMaL": front(
        "baselines", [multimnist("phn", p=2)], [MULTIMNIST]
    ),
    "UTKFace, reduced protocol: Most points of one run are non-dominated": reduced(
        [UTKFACE], measures=["non-dominated"], low=0.5
    ),
    "UTKFace, reduced protocol: The nearer to a member, the lower the loss of its task": reduced(
        [UTKFACE], measures=["order"], low=-inf, high=-0.5
    ),
    "UTKFace, reduced protocol: Most of the subspace is as good as LS at every task": reduced(
        [UTKFACE], measures=[Near(0.005, small_utkface("ls"))], low=0.5
    ),
    "UTKFace, reduced protocol: PaMaL's best loss on age is lower than that of LS": reduced(
        [UTKFACE], [small_utkface("ls")], measures=["age/loss"]
    ),
    "UTKFace, reduced protocol: PaMaL's best loss on age is lower than that of every "
    "baseline": reduced(
        [UTKFACE], [small_utkface(method) for method in ONE_NETWORK], measures=["age/loss"]
    ),
    "UTKFace, reduced protocol: PaMaL's best is above single-task learning on each task": reduced(
        [UTKFACE], [small_utkface("stl", task=task) for task in (0, 1, 2)], measures=["objectives"]
    ),
    "UTKFace, reduced protocol: Gradient balancing lowers PaMaL's loss on age, W = 1": reduced(
        [UTKFACE_1], [UTKFACE_1.having(balancing="none")], measures=["age/loss"]
    ),
    "UTKFace, reduced protocol: Gradient balancing makes PaMaL better on every task, "
    "W = 1": reduced([UTKFACE_1], [UTKFACE_1.having(balancing="none")], measures=["objectives"]),
    "UTKFace, reduced protocol: Gradient balancing brings PaMaL's losses into order, "
    "W = 1": reduced([UTKFACE_1], [UTKFACE_1.having(balancing="none")], measures=["order"]),
    "MultiMNIST: the network of PaMaL chosen on validation against every baseline, on test": chosen(
        [MULTIMNIST], baselines
    ),
    "Census: the network of PaMaL chosen on validation against every baseline, on test": chosen(
        [CENSUS], baselines
    ),
    **{
        f"{DATA[ours.experiment]}: the best of PaMaL's front is within {margin:g} of single-task "
        "learning, or above it, on each task, on test": Claim(
            "seen",
            [ours],
            [setting(ours.experiment, "stl", task=task) for task in (0, 1)],
            measures=["objectives"],
            low=-margin,
        )
        for ours, margin in ((MULTIMNIST, 0.005), (CENSUS, 0.001))
    },
    "MultiMNIST: most networks of one run are within 0.005 of LS at every task, on test": Claim(
        "seen", [MULTIMNIST], measures=[Near(0.005, multimnist("ls"))], low=0.5
    ),
    "Census: most networks of one run are within 0.001 of LS at every task, on test": Claim(
        "seen", [CENSUS], measures=[Near(0.001, census("ls"))], low=0.5
    ),
    "MultiMNIST: PaMaL at M times the rate against PaMaL at the plain rate": front(
        "rates", [MULTIMNIST], [multimnist("pamal", lr_scaling="plain")]
    ),
    "Census: PaMaL at M times the rate against PaMaL at the plain rate": front(
        "rates", [CENSUS], [census("pamal", lr_scaling="plain")]
    ),
    "MultiMNIST3: PaMaL at M times the rate against PaMaL at the plain rate": front(
        "rates", [multimnist3("pamal", lr_scaling="members")], [multimnist3("pamal")]
    ),
    "MultiMNIST, with an EMA of 0.999: no point of one run dominates another in loss "
    "(Claim 1)": undominated([multimnist("pamal", average=0.999)]),
    "MultiMNIST, with the last weights: no point of one run dominates another in "
    "loss (Claim 1)": undominated([MULTIMNIST]),
}
