"""What was registered is judged after its last run, in one family; what is wrong is refused."""

import hashlib
import json
import re

import numpy as np
import pytest
from made_up import record
from scipy.stats import t as student

from pamal_companion.study import registered
from pamal_companion.study.registered import read, verdicts
from pamal_core.errors import InputError

SEEDS = range(20, 26)
TEXT = """
question = "Is it ahead?"
seeds = [20, 21, 22, 23, 24, 25]

[[settings]]
name = "pamal"
experiment = "census"
method = "pamal"
options = "W=1; lam=0; draw=seed"

[[settings]]
name = "ls"
experiment = "census"
method = "ls"
options = "draw=seed"

[[settings]]
name = "ls-again"
experiment = "census"
method = "ls"
options = "weights=[1, 2]; draw=seed"

[[comparisons]]
ours = "pamal"
theirs = "ls"
measure = "hypervolume"
split = "validation"
margin = 0.002

[[comparisons]]
ours = "ls"
theirs = "ls-again"
measure = "chosen hypervolume"
split = "test"
"""


def register(folder, text=TEXT):
    (folder / "question.toml").write_text(text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    (folder / "HASHES").write_text(f"{digest}  question.toml\n")
    return folder


def write(question, ours, theirs):
    """Records whose hypervolumes are these, where each seed has its own draw of the data."""
    for name, volumes in (("pamal", ours), ("ls", theirs), ("ls-again", theirs)):
        for (seed, path), volume in zip(question.paths[name].items(), volumes, strict=False):
            path.parent.mkdir(exist_ok=True)
            row = question.rows[name]
            given = {"masters": "mended", **row.at(seed)}
            record(f"census/{row.method}", [(volume, 1.0)], seed=seed, **given).write(path)


def test_until_the_last_run_there_is_no_number(tmp_path):
    question = read("question", register(tmp_path))
    assert question.progress == "running, 0 of 18"
    write(question, [0.9] * 6, [0.5] * 5)
    assert question.progress == "running, 16 of 18"
    found = verdicts(question)
    assert {*found["verdict"]} == {"running, 16 of 18"} and {*found["estimate"]} == {""}


def test_seeds_with_draws_of_their_own_are_compared_one_by_one(tmp_path):
    question = read("question", register(tmp_path))
    rng = np.random.default_rng(0)
    draws = 0.7 + 0.02 * rng.normal(size=6)
    write(question, draws + 0.003 + 1e-4 * rng.normal(size=6), draws)
    assert question.progress == "complete"
    found = verdicts(question)
    assert found["verdict"].tolist() == ["ahead", "level"]
    assert found["estimate"].iloc[0].startswith("+0.00")
    assert found["seeds to decide"].tolist() == ["", ""]


def test_an_open_one_says_how_many_seeds_would_decide(tmp_path):
    question = read("question", register(tmp_path))
    away = np.array([0.02, -0.004, 0.012, 0.03, -0.01, 0.015])
    write(question, 0.7 + away, [0.7] * 6)
    open_one = verdicts(question).iloc[0]
    assert open_one["verdict"] == "open"
    needed, (mean, deviation) = int(open_one["seeds to decide"]), (away.mean(), away.std(ddof=1))

    def corrected(seeds):
        return 2 * 2 * student.sf(mean / (deviation / np.sqrt(seeds)), seeds - 1)

    assert corrected(needed) < 0.05 <= corrected(needed - 1)


def test_a_family_is_wrong_in_one_case_of_twenty_at_most(tmp_path, monkeypatch):
    """Of ten comparisons of settings that are alike."""
    rows = TEXT.split("[[comparisons]]")
    question = read("question", register(tmp_path, rows[0] + 10 * ("[[comparisons]]" + rows[1])))
    write(question, [0.7] * 6, [0.7] * 6)
    rng, wrong = np.random.default_rng(1), 0
    monkeypatch.setattr(
        registered.frame,
        "measured",
        lambda runs, setting, *_: registered.pd.Series(0.7 + 0.01 * rng.normal(size=6), SEEDS),
    )
    for _ in range(100):
        wrong += verdicts(question)["verdict"].isin(["ahead", "behind"]).any()
    assert wrong <= 5 + 3 * np.sqrt(100 * 0.05 * 0.95)


HYPOTHESES = TEXT.partition("[[comparisons]]")[0].replace(
    "seeds =", 'hypotheses = ["PaMaL - LS"]\nseeds ='
)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('method = "ls"', 'method = "lss"', "lss"),
        ('"census"', '"sensus"', "`experiment` must be one of"),
        ("W=1", "window=1", "window"),
        ("draw=seed", "bogus=seed", "bogus"),
        ("draw=seed", "seed=3", "Found seed"),
        ("options =", "option =", "option: Extra inputs"),
        ('theirs = "ls"', 'theirs = "uw"', "`theirs` must be one of pamal, ls"),
        ('theirs = "ls"', 'theirs = "pamal"', "`theirs` must be another setting"),
        ('measure = "hypervolume"', 'measure = "volume"', "A measure is one of"),
        ('measure = "hypervolume"', 'measure = "age/acuracy"', "A measure is one of"),
        ('measure = "hypervolume"', 'measure = "covering pairs"', "A measure is one of"),
        ('split = "validation"', 'split = "training"', "split: Input should be 'validation'"),
        ('split = "validation"', 'split = "test, recalibrated"', "`split` must be measured"),
        ('split = "validation"', "", "split: Field required"),
        ("margin = 0.002", "margin = -1", "margin: Input should be greater than or equal to 0"),
        ("margin = 0.002", "margin = nan", "margin: Input should be a finite number"),
        ("margin = 0.002", "margn = 0.5", "margn: Extra inputs"),
        ("seeds = [20,", "seeds = [-1,", "seeds.0: Input should be greater than or equal to 0"),
        ("seeds = [20,", "seeds = [21,", "each must be there once"),
        ("[20, 21, 22, 23, 24, 25]", "[]", "seeds: List should have at least 1 item"),
        ("[20, 21, 22, 23, 24, 25]", "20", "seeds: Input should be a valid list"),
        ("seeds = [20,", "seed = [20,", "seeds: Field required"),
        ('name = "ls"', 'name = "pamal"', "each must be there once"),
        ('name = "ls"', 'name = "../ls"', "name: String should match"),
        ('question = "Is it ahead?"', "", "question: Field required"),
        ("[[settings]]", "[[setting]]", "settings: Field required"),
        ("[[comparisons]]", "[[comparison]]", "comparison: Input should be a valid string"),
        ("question =", "question", "cannot be read: Expected '='"),
        ("seeds =", 'hypotheses = ["PaMaL is ahead"]\nseeds =', "no hypotheses beside comparisons"),
        (TEXT, TEXT.partition("[[comparisons]]")[0], "Found both or none"),
        (TEXT, HYPOTHESES, "Found both or none"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path, old, new, said):
    with pytest.raises(InputError, match=re.escape(said)) as refused:
        read("question", register(tmp_path, TEXT.replace(old, new)))
    assert "The registration question" in str(refused.value)


def test_a_registration_is_one_of_its_folder(tmp_path):
    with pytest.raises(InputError, match="Found no"):
        read("../question", register(tmp_path))


def test_what_is_registered_here_has_its_hash_and_can_be_read():
    names = [path.stem for path in registered.FOLDER.glob("*.toml")]
    assert names and all(read(name).paths for name in names)


def test_the_readme_beside_them_names_the_code_of_every_record():
    """A row has the questions and the commit; what no row names is of the row `all others`."""
    text = (registered.FOLDER / "README.md").read_text("utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    said = {questions: code for questions, code, *_ in rows[2:]}
    for folder in (path for path in registered.FOLDER.iterdir() if path.is_dir()):
        made = [json.loads(path.read_text("utf-8")) for path in folder.glob("*.json")]
        for run in made:
            commit = (run.get("made_on") or {}).get("commit") or "no commit in the record"
            its = [c for questions, c in said.items() if _names(questions, folder.name)]
            named, changed = commit.removesuffix("-changed"), commit.endswith("-changed")
            words = named if commit.startswith("no ") else named[:8]
            assert any(words in code and changed == ("`-changed`" in code) for code in its) or (
                words == "069a9f59" and "069a9f59" in said["all others"]
            ), (folder.name, commit)


def _names(questions, name):
    return f"`{name}`" in questions or ("`dial-*`" in questions and name.startswith("dial-"))
