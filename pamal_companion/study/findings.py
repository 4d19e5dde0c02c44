"""What our own runs say beyond the paper; `where` is the section of the page with the evidence."""

from functools import partial

from pamal_companion.study.claim import Claim
from pamal_companion.study.frame import Near, setting

multimnist = partial(setting, "multimnist")
census = partial(setting, "census")
multimnist3 = partial(setting, "multimnist3")
utkface = partial(setting, "utkface")
cityscapes = partial(setting, "cityscapes")

FINDINGS = [
    Claim(
        "MultiMNIST, rate 0.001: PaMaL's front is ahead of LS",
        "rates",
        [multimnist("pamal", lr_scaling="plain")],
        ["hypervolume"],
        "validation",
        theirs=[multimnist("ls")],
        low=0,
    ),
    Claim(
        "MultiMNIST, rate 0.002: PaMaL's front is ahead of LS",
        "rates",
        [multimnist("pamal")],
        ["hypervolume"],
        "validation",
        theirs=[multimnist("ls", lr=0.002)],
        low=0,
    ),
    Claim(
        "MultiMNIST, rate 0.004: PaMaL's front is ahead of LS",
        "rates",
        [multimnist("pamal", lr=0.002)],
        ["hypervolume"],
        "validation",
        theirs=[multimnist("ls", lr=0.004)],
        low=0,
    ),
    Claim(
        "MultiMNIST, the paper's rates: PaMaL's front is ahead of LS",
        "rates",
        [multimnist("pamal")],
        ["hypervolume"],
        "validation",
        theirs=[multimnist("ls")],
        low=0,
    ),
    Claim(
        "MultiMNIST, twice the paper's rate: PaMaL is better",
        "rates",
        [multimnist("pamal", lr=0.002)],
        ["hypervolume"],
        "validation",
        theirs=[multimnist("pamal")],
        low=0,
    ),
    Claim(
        "MultiMNIST, equal passes: one network of LS is ahead of PaMaL's front",
        "cost",
        [multimnist("ls", epochs=40)],
        ["hypervolume"],
        "validation",
        theirs=[multimnist("pamal")],
        low=0,
    ),
    Claim(
        "MultiMNIST, equal passes, on test: one network of LS is ahead of PaMaL's front",
        "cost",
        [multimnist("ls", epochs=40)],
        ["hypervolume"],
        "test",
        theirs=[multimnist("pamal")],
        low=0,
    ),
    Claim(
        "MultiMNIST, equal passes: with stratified draws and an EMA of the weights PaMaL's front is ahead of LS",
        "cost",
        [multimnist("pamal", draws="stratified", average=0.99)],
        ["hypervolume"],
        "validation",
        theirs=[multimnist("ls", epochs=40)],
        low=0,
    ),
    Claim(
        "MultiMNIST, equal passes, both with an EMA: PaMaL's front with stratified draws is ahead of LS",
        "cost",
        [multimnist("pamal", draws="stratified", average=0.99)],
        ["hypervolume"],
        "validation",
        theirs=[multimnist("ls", epochs=40, average=0.99)],
        low=0,
    ),
    Claim(
        "MultiMNIST, equal passes, each at its best rate with an EMA: PaMaL with stratified draws is ahead of LS",
        "cost",
        [multimnist("pamal", draws="stratified", average=0.99, lr=0.002)],
        ["hypervolume"],
        "validation",
        theirs=[multimnist("ls", epochs=40, average=0.99, lr=0.002)],
        low=0,
    ),
    Claim(
        "MultiMNIST: an EMA of the weights makes PaMaL better",
        "tricks",
        [multimnist("pamal", average=0.99)],
        ["hypervolume"],
        "validation",
        theirs=[multimnist("pamal")],
        low=0,
    ),
    Claim(
        "MultiMNIST: stratified draws beside an EMA make PaMaL better",
        "tricks",
        [multimnist("pamal", draws="stratified", average=0.99)],
        ["hypervolume"],
        "validation",
        theirs=[multimnist("pamal", average=0.99)],
        low=0,
    ),
    Claim(
        "Census, the paper's rates: PaMaL's front is ahead of LS",
        "rates",
        [census("pamal")],
        ["hypervolume"],
        "validation",
        theirs=[census("ls")],
        low=0,
    ),
    Claim(
        "Census, rate 0.002: PaMaL's front is ahead of LS",
        "rates",
        [census("pamal")],
        ["hypervolume"],
        "validation",
        theirs=[census("ls", lr=0.002)],
        low=0,
    ),
    Claim(
        "Census, each at the best rate tried: PaMaL's front is ahead of LS",
        "rates",
        [census("pamal", lr=0.0003)],
        ["hypervolume"],
        "validation",
        theirs=[census("ls", lr=0.0003)],
        low=0,
    ),
    Claim(
        "Census, equal passes: PaMaL's front is ahead of LS",
        "cost",
        [census("pamal")],
        ["hypervolume"],
        "validation",
        theirs=[census("ls", epochs=20)],
        low=0,
    ),
    Claim(
        "Census, equal passes, on test: PaMaL's front is ahead of LS",
        "cost",
        [census("pamal")],
        ["hypervolume"],
        "test",
        theirs=[census("ls", epochs=20)],
        low=0,
    ),
    Claim(
        "Census, the best rates and an EMA: W = 4, λ = 10 is ahead of LS",
        "tricks",
        [census("pamal", W=4, lam=10, lr=0.0003, average=0.999)],
        ["hypervolume"],
        "validation",
        theirs=[census("ls", lr=0.0003, average=0.999)],
        low=0,
    ),
    Claim(
        "MultiMNIST3, rate 0.001: PaMaL's front is ahead of LS",
        "rates",
        [multimnist3("pamal")],
        ["hypervolume"],
        "validation",
        theirs=[multimnist3("ls")],
        low=0,
    ),
    Claim(
        "MultiMNIST3, rate 0.003: PaMaL's front is ahead of LS",
        "rates",
        [multimnist3("pamal", lr_scaling="members")],
        ["hypervolume"],
        "validation",
        theirs=[multimnist3("ls", lr=0.003)],
        low=0,
    ),
    Claim(
        "MultiMNIST, rate 0.001: the network of PaMaL chosen on validation is ahead of LS, on test",
        "chosen",
        [multimnist("pamal", lr_scaling="plain")],
        ["chosen hypervolume"],
        "test",
        theirs=[multimnist("ls")],
        low=0,
    ),
    Claim(
        "MultiMNIST, rate 0.002: the network of PaMaL chosen on validation is ahead of LS, on test",
        "chosen",
        [multimnist("pamal")],
        ["chosen hypervolume"],
        "test",
        theirs=[multimnist("ls", lr=0.002)],
        low=0,
    ),
    Claim(
        "MultiMNIST, rate 0.004: the network of PaMaL chosen on validation is ahead of LS, on test",
        "chosen",
        [multimnist("pamal", lr=0.002)],
        ["chosen hypervolume"],
        "test",
        theirs=[multimnist("ls", lr=0.004)],
        low=0,
    ),
    Claim(
        "MultiMNIST, the paper's rates: the network of PaMaL chosen on validation is ahead of LS, on test",
        "chosen",
        [multimnist("pamal")],
        ["chosen hypervolume"],
        "test",
        theirs=[multimnist("ls")],
        low=0,
    ),
    Claim(
        "MultiMNIST, equal passes: the network of PaMaL chosen on validation is ahead of LS, on test",
        "chosen",
        [multimnist("pamal")],
        ["chosen hypervolume"],
        "test",
        theirs=[multimnist("ls", epochs=40)],
        low=0,
    ),
    Claim(
        "MultiMNIST, 40 passes, with an EMA: the network of PaMaL with W = 1 chosen on validation is ahead of LS, on test",
        "chosen",
        [multimnist("pamal", W=1, epochs=40, average=0.99)],
        ["chosen hypervolume"],
        "test",
        theirs=[multimnist("ls", epochs=40, average=0.99)],
        low=0,
    ),
    Claim(
        "MultiMNIST, equal passes, an EMA and the best rate on both sides: the network of PaMaL chosen on validation is ahead of LS, on test",
        "chosen",
        [multimnist("pamal", draws="stratified", average=0.99, lr=0.002)],
        ["chosen hypervolume"],
        "test",
        theirs=[multimnist("ls", epochs=40, average=0.99, lr=0.002)],
        low=0,
    ),
    Claim(
        "Census, the paper's rates: the network of PaMaL chosen on validation is ahead of LS, on test",
        "chosen",
        [census("pamal")],
        ["chosen hypervolume"],
        "test",
        theirs=[census("ls")],
        low=0,
    ),
    Claim(
        "MultiMNIST3, rate 0.001: the network of PaMaL chosen on validation is ahead of LS, on test",
        "chosen",
        [multimnist3("pamal")],
        ["chosen hypervolume"],
        "test",
        theirs=[multimnist3("ls")],
        low=0,
    ),
    Claim(
        "MultiMNIST, equal passes and steps: PaMaL's front is ahead of LS with a batch four times as large",
        "cost",
        [multimnist("pamal")],
        ["hypervolume"],
        "validation",
        theirs=[multimnist("ls", epochs=40, batch_size=1024)],
        low=0,
    ),
    Claim(
        "MultiMNIST: an EMA over a thousand steps makes LS worse",
        "tricks",
        [multimnist("ls")],
        ["hypervolume"],
        "validation",
        theirs=[multimnist("ls", average=0.999)],
        low=0,
    ),
    Claim(
        "MultiMNIST: LS gains by PaMaL's rate",
        "rates",
        [multimnist("ls", lr=0.002)],
        ["hypervolume"],
        "validation",
        theirs=[multimnist("ls")],
        low=0,
    ),
    Claim(
        "MultiMNIST, 40 epochs: at 0.002 LS with an EMA is better than at 0.001",
        "rates",
        [multimnist("ls", epochs=40, lr=0.002, average=0.99)],
        ["hypervolume"],
        "validation",
        theirs=[multimnist("ls", epochs=40, average=0.99)],
        low=0,
    ),
    Claim(
        "MultiMNIST3: LS gains by three times the rate",
        "rates",
        [multimnist3("ls", lr=0.003)],
        ["hypervolume"],
        "validation",
        theirs=[multimnist3("ls")],
        low=0,
    ),
    Claim(
        "Census: twice the epochs make LS, RLW and Nash-MTL worse",
        "cost",
        [census("ls"), census("rlw"), census("nash_mtl")],
        ["hypervolume"],
        "validation",
        theirs=[census("ls", epochs=20), census("rlw", epochs=20), census("nash_mtl", epochs=20)],
        low=0,
    ),
    Claim(
        "Census: with an EMA of the weights W = 2 and LS are level, each at its best rate tried",
        "tricks",
        [census("pamal", lr=0.0003, average=0.999)],
        ["hypervolume"],
        "validation",
        theirs=[census("ls", lr=0.0003, average=0.999)],
        low=-0.001,
        high=0.001,
    ),
    Claim(
        "Census: a lower rate makes LS better",
        "rates",
        [census("ls", lr=0.0003)],
        ["hypervolume"],
        "validation",
        theirs=[census("ls")],
        low=0,
    ),
    Claim(
        "Census: a lower rate makes PaMaL better",
        "rates",
        [census("pamal", lr=0.0003)],
        ["hypervolume"],
        "validation",
        theirs=[census("pamal")],
        low=0,
    ),
    Claim(
        "Census, the best rates and an EMA: twice the epochs make LS worse",
        "cost",
        [census("ls", lr=0.0003, average=0.999)],
        ["hypervolume"],
        "validation",
        theirs=[census("ls", epochs=20, lr=0.0003, average=0.999)],
        low=0,
    ),
    Claim(
        "Census: an EMA of the weights brings the front's losses into order",
        "tricks",
        [census("pamal", average=0.999)],
        ["order"],
        "validation",
        theirs=[census("pamal")],
        low=0,
    ),
    Claim(
        "MultiMNIST, 10 passes: PaMaL with W = 1 is ahead of a soup",
        "cost",
        [multimnist("pamal", W=1)],
        ["hypervolume"],
        "validation",
        theirs=[multimnist("soup", epochs=7, shared_epochs=4)],
        low=0,
    ),
    Claim(
        "MultiMNIST, 10 passes, with an EMA: PaMaL with W = 1 is ahead of a soup",
        "cost",
        [multimnist("pamal", W=1, average=0.99)],
        ["hypervolume"],
        "validation",
        theirs=[multimnist("soup", epochs=7, shared_epochs=4, average=0.99)],
        low=0,
    ),
    Claim(
        "MultiMNIST, 40 passes: PaMaL with W = 1 is ahead of PaMaL with W = 4",
        "cost",
        [multimnist("pamal", W=1, epochs=40)],
        ["hypervolume"],
        "validation",
        theirs=[multimnist("pamal")],
        low=0,
    ),
    Claim(
        "MultiMNIST, 40 passes: PaMaL with W = 1 is ahead of LS",
        "cost",
        [multimnist("pamal", W=1, epochs=40)],
        ["hypervolume"],
        "validation",
        theirs=[multimnist("ls", epochs=40)],
        low=0,
    ),
    Claim(
        "MultiMNIST, 40 passes: a soup is ahead of PaMaL with W = 4",
        "cost",
        [multimnist("soup", epochs=30, shared_epochs=20)],
        ["hypervolume"],
        "validation",
        theirs=[multimnist("pamal")],
        low=0,
    ),
    Claim(
        "MultiMNIST, 40 passes: a soup is ahead of PaMaL with W = 1",
        "cost",
        [multimnist("soup", epochs=30, shared_epochs=20)],
        ["hypervolume"],
        "validation",
        theirs=[multimnist("pamal", W=1, epochs=40)],
        low=0,
    ),
    Claim(
        "MultiMNIST, 40 passes: a soup is ahead of LS",
        "cost",
        [multimnist("soup", epochs=30, shared_epochs=20)],
        ["hypervolume"],
        "validation",
        theirs=[multimnist("ls", epochs=40)],
        low=0,
    ),
    Claim(
        "MultiMNIST, 40 passes, with an EMA: PaMaL with W = 1 is ahead of PaMaL with W = 4",
        "cost",
        [multimnist("pamal", W=1, epochs=40, average=0.99)],
        ["hypervolume"],
        "validation",
        theirs=[multimnist("pamal", average=0.99)],
        low=0,
    ),
    Claim(
        "MultiMNIST, 40 passes, with an EMA: PaMaL with W = 1 is ahead of LS",
        "cost",
        [multimnist("pamal", W=1, epochs=40, average=0.99)],
        ["hypervolume"],
        "validation",
        theirs=[multimnist("ls", epochs=40, average=0.99)],
        low=0,
    ),
    Claim(
        "MultiMNIST, 40 passes, with an EMA: a soup is ahead of PaMaL with W = 1",
        "cost",
        [multimnist("soup", epochs=30, shared_epochs=20, average=0.99)],
        ["hypervolume"],
        "validation",
        theirs=[multimnist("pamal", W=1, epochs=40, average=0.99)],
        low=0,
    ),
    Claim(
        "MultiMNIST, 40 passes, equal rates: a soup is ahead of PaMaL with W = 1",
        "cost",
        [multimnist("soup", epochs=30, shared_epochs=20, lr=0.002)],
        ["hypervolume"],
        "validation",
        theirs=[multimnist("pamal", W=1, epochs=40)],
        low=0,
    ),
    Claim(
        "Census, 10 passes: PaMaL with W = 1 is ahead of a soup",
        "cost",
        [census("pamal", W=1, lam=0)],
        ["hypervolume"],
        "validation",
        theirs=[census("soup", epochs=7, shared_epochs=4)],
        low=0,
    ),
    Claim(
        "Census, 20 passes: a soup is ahead of PaMaL with W = 2",
        "cost",
        [census("soup", epochs=15, shared_epochs=10)],
        ["hypervolume"],
        "validation",
        theirs=[census("pamal")],
        low=0,
    ),
    Claim(
        "Census, 20 passes: PaMaL with W = 1 is ahead of PaMaL with W = 2",
        "cost",
        [census("pamal", W=1, lam=0, epochs=20)],
        ["hypervolume"],
        "validation",
        theirs=[census("pamal")],
        low=0,
    ),
    Claim(
        "Census, 20 passes, with an EMA: a soup is ahead of PaMaL with W = 2",
        "cost",
        [census("soup", epochs=15, shared_epochs=10, average=0.999)],
        ["hypervolume"],
        "validation",
        theirs=[census("pamal", average=0.999)],
        low=0,
    ),
    Claim(
        "CityScapes, drawn streets: PaMaL's front is ahead of LS, on test",
        "sample",
        [
            cityscapes(
                "pamal",
                p=0.5,
                data="sample",
                epochs=11,
                width=8,
                batch_size=20,
                lr=0.004,
                batch_norm="recalibrated",
            )
        ],
        ["hypervolume"],
        "test",
        theirs=[
            cityscapes(
                "ls",
                data="sample",
                epochs=11,
                width=8,
                batch_size=20,
                lr=0.004,
                batch_norm="recalibrated",
            )
        ],
        low=0,
    ),
    Claim(
        "CityScapes, drawn streets: PaMaL's front is ahead of UW, on test",
        "sample",
        [
            cityscapes(
                "pamal",
                p=0.5,
                data="sample",
                epochs=11,
                width=8,
                batch_size=20,
                lr=0.004,
                batch_norm="recalibrated",
            )
        ],
        ["hypervolume"],
        "test",
        theirs=[
            cityscapes(
                "uw",
                data="sample",
                epochs=11,
                width=8,
                batch_size=20,
                lr=0.004,
                batch_norm="recalibrated",
            )
        ],
        low=0,
    ),
    Claim(
        "CityScapes, drawn streets: PaMaL's front is ahead of MGDA, on test",
        "sample",
        [
            cityscapes(
                "pamal",
                p=0.5,
                data="sample",
                epochs=11,
                width=8,
                batch_size=20,
                lr=0.004,
                batch_norm="recalibrated",
            )
        ],
        ["hypervolume"],
        "test",
        theirs=[
            cityscapes(
                "mgda",
                data="sample",
                epochs=11,
                width=8,
                batch_size=20,
                lr=0.004,
                batch_norm="recalibrated",
            )
        ],
        low=0,
    ),
    Claim(
        "CityScapes, drawn streets: the network of PaMaL chosen on validation has the better mIoU than LS, on test",
        "sample",
        [
            cityscapes(
                "pamal",
                p=0.5,
                data="sample",
                epochs=11,
                width=8,
                batch_size=20,
                lr=0.004,
                batch_norm="recalibrated",
            )
        ],
        ["chosen segmentation/mIoU"],
        "test",
        theirs=[
            cityscapes(
                "ls",
                data="sample",
                epochs=11,
                width=8,
                batch_size=20,
                lr=0.004,
                batch_norm="recalibrated",
            )
        ],
        low=0,
    ),
    Claim(
        "MultiMNIST: PHN tuned on one seed, p = 2, is ahead of PaMaL",
        "rivals",
        [multimnist("phn", p=2)],
        ["hypervolume"],
        "validation",
        theirs=[multimnist("pamal")],
        low=0,
    ),
    Claim(
        "UTKFace, reduced protocol: Most points of one run are non-dominated",
        "reduced",
        [
            utkface(
                "pamal", width=16, stem="torchvision", split="paper", epochs=10, batch_norm="both"
            )
        ],
        ["non-dominated"],
        "test, recalibrated",
        low=0.5,
    ),
    Claim(
        "UTKFace, reduced protocol: The nearer to a member, the lower the loss of its task",
        "reduced",
        [
            utkface(
                "pamal", width=16, stem="torchvision", split="paper", epochs=10, batch_norm="both"
            )
        ],
        ["order"],
        "test, recalibrated",
        high=-0.5,
    ),
    Claim(
        "UTKFace, reduced protocol: Most of the subspace is as good as LS at every task",
        "reduced",
        [
            utkface(
                "pamal", width=16, stem="torchvision", split="paper", epochs=10, batch_norm="both"
            )
        ],
        [
            Near(
                0.005,
                utkface(
                    "ls", width=16, stem="torchvision", split="paper", epochs=10, batch_norm="both"
                ),
            )
        ],
        "test, recalibrated",
        low=0.5,
    ),
    Claim(
        "UTKFace, reduced protocol: PaMaL's best loss on age is lower than that of LS",
        "reduced",
        [
            utkface(
                "pamal", width=16, stem="torchvision", split="paper", epochs=10, batch_norm="both"
            )
        ],
        ["age/loss"],
        "test, recalibrated",
        theirs=[
            utkface("ls", width=16, stem="torchvision", split="paper", epochs=10, batch_norm="both")
        ],
        low=0,
    ),
    Claim(
        "UTKFace, reduced protocol: PaMaL's best loss on age is lower than that of every baseline",
        "reduced",
        [
            utkface(
                "pamal", width=16, stem="torchvision", split="paper", epochs=10, batch_norm="both"
            )
        ],
        ["age/loss"],
        "test, recalibrated",
        theirs=[
            utkface(
                "ls", width=16, stem="torchvision", split="paper", epochs=10, batch_norm="both"
            ),
            utkface(
                "uw", width=16, stem="torchvision", split="paper", epochs=10, batch_norm="both"
            ),
            utkface(
                "dwa", width=16, stem="torchvision", split="paper", epochs=10, batch_norm="both"
            ),
            utkface(
                "rlw", width=16, stem="torchvision", split="paper", epochs=10, batch_norm="both"
            ),
            utkface(
                "mgda", width=16, stem="torchvision", split="paper", epochs=10, batch_norm="both"
            ),
            utkface(
                "pcgrad", width=16, stem="torchvision", split="paper", epochs=10, batch_norm="both"
            ),
            utkface(
                "imtl", width=16, stem="torchvision", split="paper", epochs=10, batch_norm="both"
            ),
            utkface(
                "graddrop",
                width=16,
                stem="torchvision",
                split="paper",
                epochs=10,
                batch_norm="both",
            ),
            utkface(
                "cagrad", width=16, stem="torchvision", split="paper", epochs=10, batch_norm="both"
            ),
            utkface(
                "nash_mtl",
                width=16,
                stem="torchvision",
                split="paper",
                epochs=10,
                batch_norm="both",
            ),
            utkface(
                "auto_lambda",
                width=16,
                stem="torchvision",
                split="paper",
                epochs=10,
                batch_norm="both",
            ),
            utkface(
                "rotograd",
                width=16,
                stem="torchvision",
                split="paper",
                epochs=10,
                batch_norm="both",
            ),
        ],
        low=0,
    ),
    Claim(
        "UTKFace, reduced protocol: PaMaL's best is above single-task learning on each task",
        "reduced",
        [
            utkface(
                "pamal", width=16, stem="torchvision", split="paper", epochs=10, batch_norm="both"
            )
        ],
        ["objectives"],
        "test, recalibrated",
        theirs=[
            utkface(
                "stl",
                task=task,
                width=16,
                stem="torchvision",
                split="paper",
                epochs=10,
                batch_norm="both",
            )
            for task in (0, 1, 2)
        ],
        low=0,
    ),
    Claim(
        "UTKFace, reduced protocol: Gradient balancing lowers PaMaL's loss on age, W = 1",
        "reduced",
        [
            utkface(
                "pamal",
                W=1,
                p=1,
                width=16,
                stem="torchvision",
                split="paper",
                epochs=10,
                batch_norm="both",
            )
        ],
        ["age/loss"],
        "test, recalibrated",
        theirs=[
            utkface(
                "pamal",
                W=1,
                p=1,
                balancing="none",
                width=16,
                stem="torchvision",
                split="paper",
                epochs=10,
                batch_norm="both",
            )
        ],
        low=0,
    ),
    Claim(
        "UTKFace, reduced protocol: Gradient balancing makes PaMaL better on every task, W = 1",
        "reduced",
        [
            utkface(
                "pamal",
                W=1,
                p=1,
                width=16,
                stem="torchvision",
                split="paper",
                epochs=10,
                batch_norm="both",
            )
        ],
        ["objectives"],
        "test, recalibrated",
        theirs=[
            utkface(
                "pamal",
                W=1,
                p=1,
                balancing="none",
                width=16,
                stem="torchvision",
                split="paper",
                epochs=10,
                batch_norm="both",
            )
        ],
        low=0,
    ),
    Claim(
        "UTKFace, reduced protocol: Gradient balancing brings PaMaL's losses into order, W = 1",
        "reduced",
        [
            utkface(
                "pamal",
                W=1,
                p=1,
                width=16,
                stem="torchvision",
                split="paper",
                epochs=10,
                batch_norm="both",
            )
        ],
        ["order"],
        "test, recalibrated",
        theirs=[
            utkface(
                "pamal",
                W=1,
                p=1,
                balancing="none",
                width=16,
                stem="torchvision",
                split="paper",
                epochs=10,
                batch_norm="both",
            )
        ],
        low=0,
    ),
]
