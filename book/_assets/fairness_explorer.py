"""Write the values of the first page's explorer:

python book/_assets/fairness_explorer.py

It makes three runs of the registered question `fairness-front` again, each with the first of its
seeds: the best variant of PaMaL, one LS and the soup, at equal compute. It takes two minutes of
one thread, and needs Census-Income (KDD).
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

import pamal_core as pamal
from pamal_companion.data import census
from pamal_companion.experiments.fairness import EXPERIMENT, FairnessOptions, picked
from pamal_companion.runs.records import Record
from pamal_companion.runs.run import run
from pamal_companion.widgets import explorer_data
from pamal_core.network import Network
from pamal_core.objectives import Objective

ROOT = Path(__file__).parents[2]
TARGET = ROOT / "book/_assets/widgets/fairness.json"
SEED = 40
RIGHT, UNEQUAL = "income/right picks", "parity/gap in picks"
JUDGED = Objective("income/average precision", True), Objective("parity/gap", False)
OPENS_AT = 0.01  # the largest gap of the registered question
ABOUT = (
    "Census-Income (KDD), one run, the first of twenty, judged on the 39,904 people of validation. "
    "Average precision says how well the scores rank those who earn more than 50,000 dollars above "
    "all others. The gap is the mean score of the men minus that of the women. For the sentence "
    "and the people, a network picks those with the highest scores, as many as earn so much: 6 of "
    "100. Diamonds are baselines of equal compute: LS, and the eleven networks of a rewarded soup."
)


def made(setting: str) -> tuple[Record, Network, FairnessOptions]:
    """Return the run of a registered setting, made again, with its network and its options."""
    path = ROOT / f"results/registered/fairness-front/{setting}_seed_{SEED}.json"
    record = Record.read(path)
    options = FairnessOptions(method=record.method, data="full", seed=SEED, **record.options)
    again, network = run(EXPERIMENT, options, EXPERIMENT.load(options))
    if again.key != record.key:
        raise RuntimeError(f"The run must be the one of {path}. Found {again.options}.")
    return record, network, options


def picks(network: Network, alpha: np.ndarray, people: TensorDataset) -> Tensor:
    """Return who is picked, [n]: as many people as earn above 50,000 dollars."""
    features, income, _ = people.tensors
    return picked(network.predict(features, alpha), int(income.sum()))


def of_picks(network: Network, alpha: np.ndarray, people: TensorDataset) -> dict[str, float]:
    """Return what the picks at `alpha` achieve, and the shares of women and men who are picked."""
    _, income, male = people.tensors
    chosen = picks(network, alpha, people)
    women, men = (float(chosen[male == sex].double().mean()) for sex in (0, 1))
    right = float(income[chosen].double().mean())
    return {RIGHT: right, UNEQUAL: abs(men - women), "women": women, "men": men}


def judged(network: Network, alphas: np.ndarray, people: TensorDataset) -> pd.DataFrame:
    """Return the picks at each of the `alphas`, and the measures by which recipes were compared."""
    tasks = EXPERIMENT.tasks
    front = pamal.evaluate(network, tasks, DataLoader(people, 5000), alphas, progress=False)
    rows = pd.DataFrame([of_picks(network, alpha, people) for alpha in alphas])
    return rows.join(front.table[["income/average precision", "parity/gap"]]).round(6)


def sentence(row: pd.Series) -> str:
    """Return what a network does, in people out of a hundred."""
    women, men, right = (100 * row[name] for name in ("women", "men", RIGHT))
    return (
        f"It picks {women:.1f} of 100 women and {men:.1f} of 100 men. Of 100 people whom it picks, "
        f"{right:.0f} earn more than 50,000 dollars."
    )


def shown(network: Network, alphas: np.ndarray, people: TensorDataset) -> dict[str, Any]:
    """Return eight test people and whether each network picks them. Of the women and the men who
    earn more, and of those who do not, these are the first whose answer changes along the front,
    and the first whom all networks pick."""
    _, income, male = people.tensors
    answers = torch.stack([picks(network, alpha, people) for alpha in alphas])  # [P, n]
    changes, always = (answers != answers[0]).any(0), answers.all(0)
    chosen = [
        int(((male == sex) & (income == earns) & kind).nonzero()[0, 0])
        for kind in (changes, always)
        for earns in (1, 0)
        for sex in (0, 1)
    ]
    frame = census.parse(census.texts(census.full_folder("full", None, census.HOME))[1])
    words = [in_words(frame.iloc[i]) for i in chosen]
    said = [
        [[{"text": words_of(one[i]), "right": bool(one[i] == income[i])}] for i in chosen]
        for one in answers
    ]
    changed = f"{int(changes.sum()):,} of the {len(male):,} people of test change their answer"
    print(f"{changed} along the front.")
    return {
        "pictures": [""] * len(chosen),
        "names": words,
        "answers": said,
        "asked": ["income"],
        "shown": f"Eight people of test. {changed} on the way from one member to the other, as the "
        "first four here do.",
    }


def words_of(is_picked: Tensor) -> str:
    """Return a pick in words."""
    return "picked" if is_picked else "not picked"


def in_words(person: pd.Series) -> str:
    """Return a person in words, with what is asked."""
    sex = "man" if person["ASEX"] == "Male" else "woman"
    earns = "above" if census.TASKS["income"][1](pd.Series([person["INCOME"]])).item() else "below"
    school = person["AHGA"].split("(")[0].strip()
    return f"{sex}, {person['AAGE']:.0f}, {school}, earns {earns} 50,000"


_, network, options = made("pamal")
splits = EXPERIMENT.load(options)
alphas = pamal.lattice(2, 101)
table = judged(network, alphas, splits.validation)
measured = [*(objective.name for objective in JUDGED), RIGHT, UNEQUAL]
front = pamal.Front(alphas, table[measured], JUDGED)
fair = table[table["parity/gap"] <= OPENS_AT]
beside = []
for label, setting in (("LS", "ls"), ("soup", "soup")):
    record, other, _ = made(setting)
    points = record.front("validation").alphas
    rows = judged(other, points, splits.validation)[[*front.table]].to_dict("records")
    named = len(rows) // 2  # one name for all networks of a baseline
    for k, row in enumerate(rows):
        beside.append({"label": label if k == named else "", "method": label, "values": row})
values = {
    "tasks": [task.name for task in EXPERIMENT.tasks],
    "alpha": alphas[fair["income/average precision"].idxmax()].tolist(),
    "points": explorer_data.points(front),
    "beside": beside,
    "told": [sentence(row) for _, row in table.iterrows()],
    **shown(network, alphas, splits.test),
    "about": ABOUT,
}
TARGET.write_text(json.dumps(values, separators=(",", ":")) + "\n", "utf-8")
print(f"{TARGET}: {TARGET.stat().st_size / 1000:.0f} kB, opens at {values['alpha']}")
print(table.to_string())
