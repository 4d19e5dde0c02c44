"""The tables of claims: of the paper (`CLAIMS`) and of our own runs (`FINDINGS`), each judged.

To add a claim is to add its text and a `Claim(...)` to one of the two.
"""

import re
from collections.abc import Mapping
from html import escape

import numpy as np
import pandas as pd

from pamal_companion.plots.table import Html, Weak
from pamal_companion.plots.table import table as html
from pamal_companion.study import paper
from pamal_companion.study.claim import Claim, at_equal_cost, check, judge
from pamal_companion.study.findings import FINDINGS as FINDINGS
from pamal_companion.study.frame import Runs
from pamal_companion.study.of_the_paper import CLAIMS
from pamal_companion.study.statistics import LEVEL, holm, rounded

check(CLAIMS | FINDINGS)
WORDS = ("holds", "fails", "undecided", "not run")
STANDS = 2 * LEVEL
"""What Holm's p is below where a verdict stands among all of its table."""
AT_COST = "At equal cost"
"""The line of the evidence that its parts follow."""


def table(runs: Runs, claims: Mapping[str, Claim] = CLAIMS) -> pd.DataFrame:
    """Return a row for each claim: what it says, of which data, the verdict at equal epochs and at
    equal cost (`at_equal_cost`; "" of None), the estimate, how many seeds would decide what is
    undecided, and the evidence: what is asked, and a line a part. `p` and `p at equal cost` are
    Holm's, of all verdicts in both columns that have one (`Judged.two_sided`): below 0.05 one
    stands among them all."""
    rows, same = [], []
    for text, claim in claims.items():
        judged = judge(claim, runs)
        cost = at_equal_cost(judged, runs)
        other = cost if cost is not judged else None
        same.append(cost is judged)
        lines = [judged.asked, *judged.evidence]
        if other:
            lines += [AT_COST, *other.evidence]
        rows.append(
            {
                "claim": text,
                "data": paper.DATA[claim.ours[0].experiment],
                "equal epochs": judged.word,
                "equal cost": cost.word if cost else "",
                "estimate": judged.estimate,
                "seeds to decide": judged.to_decide,
                "p": judged.two_sided,
                "p at equal cost": other.two_sided if other else np.nan,
                "where": claim.where,
                "evidence": "\n".join(lines),
            }
        )
    made = pd.DataFrame(rows, pd.RangeIndex(1, len(rows) + 1))
    p = made[["p", "p at equal cost"]].to_numpy(copy=True)
    p[~np.isnan(p)] = holm(p[~np.isnan(p)])
    return made.assign(**{"p": p[:, 0], "p at equal cost": np.where(same, p[:, 0], p[:, 1])})


AHEAD = {
    "holds": "is ahead of",
    "fails": "is behind",
    "undecided": "cannot be told apart from",
    "not run": "has not been compared with",
}
"""What the verdict on "is ahead of" says in a sentence."""


def word(found: pd.DataFrame, text: str) -> str:
    """Return the verdict at equal epochs of the one claim of a `table` that begins with `text`."""
    (verdict,) = found.loc[found["claim"].str.startswith(text), "equal epochs"]
    return str(verdict)


PRINTED, TEXT = ", with the sign as printed", ", with the sign of the text"
"""How a claim says which sign the penalty has."""


def anchor(claim: str) -> str:
    """Return the id of the row of a claim in a page."""
    return "claim-" + re.sub("[^a-z0-9]+", "-", claim.lower()).strip("-")


def shown(found: pd.DataFrame, anchored: bool = True) -> Html:
    """Return a `table` for a page: a row has the id `anchor`, a verdict without a p below 0.05 is
    `Weak`, and what holds for the printed sign of the penalty only says so. A claim of equal passes
    has no verdict at equal epochs."""
    words = dict(zip(found["claim"], found["equal epochs"], strict=True))

    def said(claim: str, word: str) -> str:
        other = words.get(claim.replace(PRINTED, TEXT), word) if PRINTED in claim else word
        note = f"; {other} with that of the text" if word == "holds" != other else ""
        of_data = claim.endswith(tuple(paper.DATA.values()))
        return (claim.rpartition(": ")[0] if of_data else claim) + note

    verdicts, at_cost = (
        found[name].astype(object).where(found[p] < STANDS, found[name].map(Weak))
        for name, p in (("equal epochs", "p"), ("equal cost", "p at equal cost"))
    )
    at_passes = found["claim"].str.contains(" passes")
    rows = found.assign(
        claim=[*map(said, found["claim"], found["equal epochs"])],
        **{"equal epochs": verdicts.mask(at_passes, ""), "equal cost": at_cost},
        p=found["p"].map(rounded),
        evidence=[*map(_folded, found["evidence"], found["p at equal cost"])],
    )
    single = [name for name in ("data", "where", "seeds to decide") if rows[name].nunique() < 2]
    return html(
        rows.drop(columns=[*single, "p at equal cost"]).set_index("claim"),
        filters=["data", "equal epochs", "equal cost"],
        ids=[*map(anchor, found["claim"])] if anchored else (),
    )


def _folded(text: str, p: float) -> Html:
    said = AT_COST if np.isnan(p) else f"{AT_COST}, p {rounded(p, '= ')}"
    lines = [line.replace(AT_COST, said) for line in text.splitlines()]
    items = "\n".join(f"<li>{escape(line)}</li>" for line in lines)
    return Html(f"<details><summary>evidence</summary>\n<ul>{items}</ul></details>")
