"""Made-up people, the sample of Census-Income: two files of the same form."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

Array = np.ndarray

SIZES = 8_000, 2_000
SEED = 117
NONE = "Not in universe"
SCHOOLS = "Less than 1st grade|7th and 8th grade|10th grade|High school graduate|" + (
    "Some college but no degree|Associates degree-academic program|Bachelors degree(BA AB BS)|"
    "Masters degree(MA MS MEng MEd MSW)|Doctorate degree(PhD EdD)"
)


def texts(header: Sequence[str], gap: float = 0.0) -> tuple[bytes, bytes]:
    """Return the contents of the two files, 8,000 and 2,000 people, always the same, with the
    columns of `header`.

    Age and a talent for school are drawn first. Schooling, work, pay and family follow from them
    with much chance, so that every task can be learnt, but not without error and not by one column.
    Every other column is a noisy hint at a mixture of age and talent, so that the tasks compete.

    With a `gap` men are paid so much more than women for the same work, in the units of pay, in
    which a talent has deviation 2. Most men work in one industry and most women in another, so
    that an industry hints at the sex of a person and no column tells it.
    """
    rng, n = np.random.default_rng(SEED), sum(SIZES)

    def chance(share: Array | float) -> Array:
        return rng.random(n) < share

    def level(names: str, score: Array) -> Array:
        return np.array(names.split("|"))[np.clip(score, 0, names.count("|")).astype(int)]

    age, talent = np.clip(rng.normal(37, 20, n), 0, 90).astype(int), rng.normal(size=n)

    def hint(k: int) -> Array:
        return rng.exponential(np.exp(np.cos(k) * (age / 20 - 2) + np.sin(k) * talent))

    works = (age > 16) & chance(np.where(age < 63, 0.8, 0.15))
    status = 2 * talent + rng.normal(size=n)  # what a job is like, mostly by talent
    pay = status + np.minimum(age, 55) / 15 + rng.normal(size=n)
    saves = chance(np.clip((age - 20) / 150 + status / 40, 0, 1))
    single = chance(np.clip(1.6 - age / 28, 0.08, 1))
    wed = ~single & ~chance(age / 250)
    child = single & (age < 18 + 12 * rng.random(n))
    widowed = np.where(age > 50 + 30 * rng.random(n), "Widowed", "Divorced")
    jobs = {
        "AMJIND": level("Retail trade|Construction|Education", 1.5 + status),
        "AMJOCC": level("Handlers equip cleaners etc|Sales|Adm support|Executive", 1.5 + status),
        "ADTIND": level("33|43|4", 1.5 + status),
        "ADTOCC": level("2|26|19|10", 2 + status),
        "WKSWORK": np.minimum(52, rng.integers(10, 90, n)),
        "AHRSPAY": np.where(chance(0.2), (400 + 100 * pay).astype(int).clip(0), 0),
    }
    columns = {
        **{column: level(f"{NONE}|Yes|No", hint(k)) for k, column in enumerate(header)},
        **{c: np.where(works, values.astype(str), "0") for c, values in jobs.items()},
        "ASEX": level("Female|Male", rng.uniform(0, 2, n)),
        "AAGE": age,
        "AHGA": np.where(
            age < 15, "Children", level(SCHOOLS, np.clip(age / 3 - 2, 0, 4 + 1.4 * talent))
        ),
        "AHSCOL": np.where((abs(age - 19) < 4) & (talent > 0), "College or university", NONE),
        "AMARITL": np.select([single, wed], ["Never married", "Married"], widowed),
        "CAPGAIN": np.where(saves & chance(0.3), rng.integers(100, 20_000, n), 0),
        "CAPLOSS": np.where(saves & chance(0.2), rng.integers(100, 4_000, n), 0),
        "DIVVAL": np.where(saves, rng.integers(1, 5_000, n), 0),
        "FILESTAT": np.select([child, wed], ["Nonfiler", "Joint"], "Single"),
        "HHDFMX": np.where(child, "Child", np.where(wed, "Spouse of householder", "Householder")),
        "INCOME": np.where(works & (pay > 5), "50000+.", "- 50000."),
        "MARSUPWT": rng.integers(3_787, 400_000, n) / 100,
        "PARENT": np.where(age < 18, "Both parents present", NONE),
        "VETYN": np.where(age < 15, 0, 2 - chance(age / 500)),
    }
    if gap:
        # From a generator of its own, so that all else of these people stays as it is without.
        male, other = columns["ASEX"] == "Male", np.random.default_rng([SEED, 1])
        columns["INCOME"] = np.where(works & (pay + gap * male > 5), "50000+.", "- 50000.")
        builds = male != (other.random(n) < 0.1)
        industry = np.where(builds, "Construction", "Retail trade")
        columns["AMJIND"] = np.where(other.random(n) < 0.1, "Education", industry)
    rows = pd.DataFrame(columns)[list(header)].to_csv(header=False, index=False)
    lines = rows.replace(",", ", ").encode().splitlines(keepends=True)
    return b"".join(lines[: SIZES[0]]), b"".join(lines[SIZES[0] :])
