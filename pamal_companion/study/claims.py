"""The tables of claims: of the paper (`CLAIMS`) and of our own runs (`FINDINGS`), each judged.

To add a claim is to add its text and a `Claim(...)` to one of the two.
"""

import re
from collections.abc import Mapping
from html import escape

import pandas as pd

from pamal_companion.plots.table import Html, folded
from pamal_companion.plots.table import table as html
from pamal_companion.study import paper
from pamal_companion.study.claim import Claim, check, judge
from pamal_companion.study.findings import FINDINGS as FINDINGS
from pamal_companion.study.frame import Runs
from pamal_companion.study.of_the_paper import CLAIMS

check(CLAIMS | FINDINGS)


def table(runs: Runs, claims: Mapping[str, Claim] = CLAIMS) -> pd.DataFrame:
    """Return a row for each claim: what it says, of which data, its verdict and estimate, how many
    seeds would decide what is open, and the evidence: what is asked, and a line a part."""
    rows = []
    for text, claim in claims.items():
        judged = judge(claim, runs)
        rows.append(
            {
                "claim": text,
                "data": paper.DATA[claim.ours[0].experiment],
                "verdict": judged.word,
                "estimate": judged.estimate,
                "seeds to decide": judged.to_decide,
                "where": claim.where,
                "evidence": "\n".join([judged.asked, *judged.evidence]),
            }
        )
    return pd.DataFrame(rows, pd.RangeIndex(1, len(rows) + 1))


AS_PRINTED, AS_IN_TEXT = ", with the sign as printed", ", with the sign of the text"
"""The ends of claims that say which sign the penalty has."""


def anchor(claim: str) -> str:
    """Return the id of the row of a claim in a page."""
    return "claim-" + re.sub("[^a-z0-9]+", "-", claim.lower()).strip("-")


def shown(found: pd.DataFrame, anchored: bool = True) -> Html:
    """Return a `table` for a page: a row has the id `anchor`, and the evidence of what holds for
    the printed sign of the penalty only says so. Columns with one value are left out."""
    words = dict(zip(found["claim"], found["verdict"], strict=True))

    def named(claim: str) -> str:
        return claim.rpartition(": ")[0] if claim.endswith(tuple(paper.DATA.values())) else claim

    def evidence(claim: str, word: str, lines: str) -> Html:
        other = words.get(claim.replace(AS_PRINTED, AS_IN_TEXT), word)
        is_of_one_sign = word == "holds" != other
        return _folded(f"{lines}\nWith the sign of the text: {other}" if is_of_one_sign else lines)

    of_claims = (found[name] for name in ("claim", "verdict", "evidence"))
    rows = found.assign(claim=[*map(named, found["claim"])], evidence=[*map(evidence, *of_claims)])
    names = ("data", "where", "seeds to decide")
    single = [name for name in names if rows[name].nunique() < 2]
    return html(
        rows.drop(columns=single).set_index("claim"),
        filters=["data", "verdict"],
        ids=[*map(anchor, found["claim"])] if anchored else (),
    )


def _folded(text: str) -> Html:
    items = "\n".join(f"<li>{escape(line)}</li>" for line in text.splitlines())
    return folded("evidence", f"<ul>{items}</ul>")
