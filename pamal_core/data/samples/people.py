"""Made-up people, the sample of Census-Income: two files of the same form."""

import numpy as np
import pandas as pd

from pamal_core.data.census_table import COLUMNS

Array = np.ndarray

SIZES = (8_000, 2_000)
SEED = 117
NONE = "Not in universe"
# What depends on nothing else here, the most frequent first; each half as often as the one before.
INDEPENDENT = {
    "ARACE": ("White", "Black", "Asian or Pacific Islander", "Other"),
    "AREORGN": ("All other", "Mexican-American", "Puerto Rican", "NA"),
    "ASEX": ("Female", "Male"),
    "AUNTYPE": (NONE, "Re-entrant", "Other job loser"),
    "AWKSTAT": ("Full-time schedules", "Not in labor force"),
    "GRINREG": (NONE, "South", "West", "Midwest"),
    "GRINST": (NONE, "California", "Utah", "?"),
    "MIGSAME": ("Not in universe under 1 year old", "Yes", "No"),
    "PRCITSHP": ("Native- Born in the United States", "Foreign born- Not a citizen of U S"),
    "SEOTR": ("0", "2", "1"),
    "YEAR": ("94", "95"),
    **dict.fromkeys(("AUNMEM", "MIGSUN", "VETQVA"), (NONE, "No", "Yes")),
    **dict.fromkeys(("MIGMTR1", "MIGMTR3", "MIGMTR4"), ("?", "Nonmover", "Same county")),
    **dict.fromkeys(("PEFNTVTY", "PEMNTVTY", "PENATVTY"), ("United-States", "Mexico", "?")),
}
SCHOOLS = "Less than 1st grade|7th and 8th grade|10th grade|High school graduate|" + (
    "Some college but no degree|Associates degree-academic program|Bachelors degree(BA AB BS)|"
    "Masters degree(MA MS MEng MEd MSW)|Doctorate degree(PhD EdD)"
)


def texts() -> tuple[bytes, bytes]:
    """The contents of the two files, 8,000 and 2,000 people, always the same.

    Age and a talent for school are drawn first. Schooling, work, pay and family follow from them
    with much chance, so that both tasks can be learnt, but not without error and not by one column.
    """
    rng, n = np.random.default_rng(SEED), sum(SIZES)

    def chance(share: Array | float) -> Array:
        return rng.random(n) < share

    def level(names: str, score: Array) -> Array:
        return np.array(names.split("|"))[np.clip(score, 0, names.count("|")).astype(int)]

    age, talent = np.clip(rng.normal(37, 20, n), 0, 90).astype(int), rng.normal(size=n)
    works = (age > 16) & chance(np.where(age < 63, 0.8, 0.15))
    status = 2 * talent + rng.normal(size=n)  # what a job is like, mostly by talent
    pay = status + np.minimum(age, 55) / 15 + rng.normal(size=n)
    saves = chance(np.clip((age - 20) / 150 + status / 40, 0, 1))
    single = chance(np.clip(1.6 - age / 28, 0.08, 1))
    parted = np.where(age > 50 + 30 * rng.random(n), "Widowed", "Divorced")
    wed = ~single & ~chance(age / 250)
    family = np.select([single, wed], ["Never married", "Married-civilian spouse present"], parted)
    child = single & (age < 18 + 12 * rng.random(n))
    head = np.where(wed & chance(0.5), "Spouse of householder", "Householder")
    school = level(SCHOOLS, np.clip((age - 6) / 3, 0, 4 + 1.4 * talent))  # three years a level
    studies = (age > 15) & (age < 23) & (talent + rng.normal(size=n) > 0)
    together = np.where(age < 65, "Joint both under 65", "Joint both 65+")
    parents = np.where(chance(0.7), "Both parents present", "Mother only present")
    jobs = {
        "ACLSWKR": level("Private|State government", rng.exponential(size=n)),
        "AMJIND": level("Retail trade|Construction|Education", 1.5 + status),
        "AMJOCC": level("Handlers equip cleaners etc|Sales|Adm support|Executive", 1.5 + status),
    }
    codes = {
        "ADTIND": level("33|43|4", 1.5 + status),
        "ADTOCC": level("2|26|19|10", 2 + status),
        "NOEMP": rng.integers(1, 7, n),
        "WKSWORK": np.minimum(52, rng.integers(10, 90, n)),
        "AHRSPAY": np.where(chance(0.2), (400 + 100 * pay).astype(int).clip(0), 0),
    }
    halves = {name: 0.5 ** np.arange(len(values)) for name, values in INDEPENDENT.items()}
    columns = {
        **{c: rng.choice(v, n, p=halves[c] / halves[c].sum()) for c, v in INDEPENDENT.items()},
        **{column: np.where(works, values, NONE) for column, values in jobs.items()},
        **{column: np.where(works, values, "0") for column, values in codes.items()},
        "AAGE": age,
        "AHGA": np.where(age < 15, "Children", school),
        "AHSCOL": np.where(studies, "College or university", NONE),
        "AMARITL": family,
        "CAPGAIN": np.where(saves & chance(0.3), rng.integers(100, 20_000, n), 0),
        "CAPLOSS": np.where(saves & chance(0.2), rng.integers(100, 4_000, n), 0),
        "DIVVAL": np.where(saves, rng.integers(1, 5_000, n), 0),
        "FILESTAT": np.select([child, wed], ["Nonfiler", together], "Single"),
        "HHDFMX": np.where(child, "Child", head),
        "HHDREL": np.where(child, "Child under 18 never married", head),
        "INCOME": np.where(works & (pay > 5), "50000+.", "- 50000."),
        "MARSUPWT": rng.integers(3_787, 400_000, n) / 100,
        "PARENT": np.where(age < 18, parents, NONE),
        "VETYN": np.where(age < 15, 0, 2 - chance(age / 500)),
    }
    rows = pd.DataFrame(columns)[list(COLUMNS)].to_csv(header=False, index=False)
    lines = rows.replace(",", ", ").encode().splitlines(keepends=True)
    return b"".join(lines[: SIZES[0]]), b"".join(lines[SIZES[0] :])
