"""Made-up people in the form of the Census-Income (KDD) files."""

import numpy as np
import pandas as pd

from pamal_core.data.census_table import COLUMNS

SIZES = (8_000, 2_000)
SEED = 117

# What depends on nothing else here, the most frequent first; half of the people have the first.
INDEPENDENT = {
    "ARACE": ("White", "Black", "Asian or Pacific Islander", "Other"),
    "AREORGN": ("All other", "Mexican-American", "Puerto Rican", "NA"),
    "ASEX": ("Female", "Male"),
    "AUNMEM": ("Not in universe", "No", "Yes"),
    "AUNTYPE": ("Not in universe", "Re-entrant", "Other job loser"),
    "GRINREG": ("Not in universe", "South", "West", "Midwest"),
    "GRINST": ("Not in universe", "California", "Utah", "?"),
    "MIGMTR1": ("?", "Nonmover", "MSA to MSA"),
    "MIGMTR3": ("?", "Nonmover", "Same county"),
    "MIGMTR4": ("?", "Nonmover", "Same county"),
    "MIGSAME": ("Not in universe under 1 year old", "Yes", "No"),
    "MIGSUN": ("?", "Not in universe", "No", "Yes"),
    "PEFNTVTY": ("United-States", "Mexico", "?", "Italy"),
    "PEMNTVTY": ("United-States", "Mexico", "?", "Italy"),
    "PENATVTY": ("United-States", "Mexico", "?", "Italy"),
    "PRCITSHP": ("Native- Born in the United States", "Foreign born- Not a citizen of U S"),
    "SEOTR": ("0", "2", "1"),
    "VETQVA": ("Not in universe", "No", "Yes"),
    "YEAR": ("94", "95"),
}
SCHOOLS = (
    "Less than 1st grade",
    "7th and 8th grade",
    "10th grade",
    "High school graduate",
    "Some college but no degree",
    "Associates degree-academic program",
    "Bachelors degree(BA AB BS)",
    "Masters degree(MA MS MEng MEd MSW)",
    "Doctorate degree(PhD EdD)",
)
JOBS = ("Handlers equip cleaners etc", "Sales", "Adm support including clerical", "Executive")


def texts() -> tuple[bytes, bytes]:
    """The contents of the two files, 8,000 and 2,000 people, always the same.

    Age and a talent for school are drawn first. Schooling, work, pay and family follow from them
    with much chance, so that both tasks can be learnt, but not without error and not by one column.
    """
    rng = np.random.default_rng(SEED)
    n = sum(SIZES)
    age = np.clip(rng.normal(37, 20, n), 0, 90).astype(int)
    talent = rng.normal(size=n)
    frame = pd.DataFrame({"AAGE": age} | {c: _chance(rng, v, n) for c, v in INDEPENDENT.items()})
    frame = frame.assign(
        **_school(rng, age, talent), **_work(rng, age, talent), **_family(rng, age)
    )
    people = frame[list(COLUMNS)].astype(str).agg(", ".join, axis=1).to_numpy()
    train, test = np.split(people, [SIZES[0]])
    return "\n".join([*train, ""]).encode(), "\n".join([*test, ""]).encode()


def _school(rng: np.random.Generator, age: np.ndarray, talent: np.ndarray) -> dict[str, np.ndarray]:
    reached = np.clip((age - 6) / 3, 0, 4 + 1.4 * talent)  # three years a level
    goes = (age > 15) & (age < 23) & (talent + rng.normal(size=len(age)) > 0)
    return {
        "AHGA": np.where(age < 15, "Children", _level(SCHOOLS, reached)),
        "AHSCOL": np.where(goes, "College or university", "Not in universe"),
    }


def _work(rng: np.random.Generator, age: np.ndarray, talent: np.ndarray) -> dict[str, np.ndarray]:
    n = len(age)
    works = (age > 16) & (rng.random(n) < np.where(age < 63, 0.8, 0.15))
    status = 2 * talent + rng.normal(size=n)  # what a job is like, mostly by talent
    pay = status + np.minimum(age, 55) / 15 + rng.normal(size=n)
    paid_by_hour = works & (rng.random(n) < 0.2)
    saves = rng.random(n) < np.clip((age - 20) / 150 + status / 40, 0, 1)
    jobs = {
        "ACLSWKR": _chance(rng, ("Private", "State government"), n),
        "AMJIND": _level(("Retail trade", "Construction", "Education"), 1.5 + status),
        "AMJOCC": _level(JOBS, 1.5 + 0.8 * status),
        "AWKSTAT": np.full(n, "Full-time schedules"),
    }
    codes = {
        "ADTIND": _level(("33", "43", "4"), 1.5 + status),
        "ADTOCC": _level(("2", "26", "19", "10"), 2 + status),
        "NOEMP": rng.integers(1, 7, n).astype(str),
        "WKSWORK": np.minimum(52, rng.integers(10, 90, n)).astype(str),
    }
    return {
        **{column: np.where(works, values, "Not in universe") for column, values in jobs.items()},
        **{column: np.where(works, values, "0") for column, values in codes.items()},
        "AHRSPAY": np.where(paid_by_hour, (400 + 100 * pay).astype(int).clip(0), 0),
        "CAPGAIN": np.where(saves & (rng.random(n) < 0.3), rng.integers(100, 20_000, n), 0),
        "CAPLOSS": np.where(saves & (rng.random(n) < 0.2), rng.integers(100, 4_000, n), 0),
        "DIVVAL": np.where(saves, rng.integers(1, 5_000, n), 0),
        "INCOME": np.where(works & (pay > 5), "50000+.", "- 50000."),
    }


def _family(rng: np.random.Generator, age: np.ndarray) -> dict[str, np.ndarray]:
    n = len(age)
    single = rng.random(n) < np.clip(1.6 - age / 28, 0.08, 1)
    alone = rng.random(n) < age / 250
    married = "Married-civilian spouse present"
    status = np.where(single, "Never married", np.where(alone, "Divorced", married))
    status = np.where((status == "Divorced") & (age > 50 + 30 * rng.random(n)), "Widowed", status)
    child = single & (age < 18 + 12 * rng.random(n))
    heads = np.where(rng.random(n) < 0.5, "Householder", "Spouse of householder")
    relation = np.where(child, "Child", np.where(status == married, heads, "Householder"))
    joint = np.where(age < 65, "Joint both under 65", "Joint both 65+")
    both = np.where(rng.random(n) < 0.7, "Both parents present", "Mother only present")
    return {
        "AMARITL": status,
        "FILESTAT": np.where(child, "Nonfiler", np.where(status == married, joint, "Single")),
        "HHDFMX": relation,
        "HHDREL": np.where(child, "Child under 18 never married", relation),
        "PARENT": np.where(age < 18, both, "Not in universe"),
        "VETYN": np.where(age < 15, 0, np.where(rng.random(n) < age / 500, 1, 2)),
        "MARSUPWT": rng.integers(3_787, 400_000, n) / 100,
    }


def _chance(rng: np.random.Generator, names: tuple[str, ...], n: int) -> np.ndarray:
    """One of `names` for each of `n` people, each half as often as the one before it."""
    shares = 0.5 ** np.arange(len(names))
    return rng.choice(names, n, p=shares / shares.sum())


def _level(names: tuple[str, ...], score: np.ndarray) -> np.ndarray:
    """The name at the position `score`, rounded down and kept in range."""
    return np.array(names)[np.clip(np.floor(score), 0, len(names) - 1).astype(int)]
