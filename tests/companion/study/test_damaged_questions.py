"""A question is refused, by the name of the run, where a record cannot be compared."""

import hashlib
import re
import shutil

import pytest
from commands_on_disk import rewrite

from pamal_companion.study import frame, hypotheses, registered
from pamal_companion.study.constant import unlearnt
from pamal_companion.study.per_pass import untrained
from pamal_companion.study.registered import FOLDER, read, verdicts
from pamal_core.errors import InputError


@pytest.fixture
def registrations(tmp_path):
    """A function that copies a question of this repository, with changes of its file."""

    def copied(name, *changes):
        text = (FOLDER / f"{name}.toml").read_text("utf-8")
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        (tmp_path / f"{name}.toml").write_text(text, "utf-8")
        digest = hashlib.sha256(text.encode()).hexdigest()
        (tmp_path / "HASHES").write_text(f"{digest}  {name}.toml\n")
        if not (tmp_path / name).exists():
            shutil.copytree(FOLDER / name, tmp_path / name)
        return read(name, tmp_path)

    return copied


def refused(question):
    with pytest.raises(InputError) as error:
        verdicts(question)
    return str(error.value)


def remove(fields, split, place):
    rows = [point for point in fields["points"] if point["split"] == split]
    fields["points"].remove(rows[place])


def blank(fields, split, places):
    rows = [point for point in fields["points"] if point["split"] == split]
    for place in places:
        rows[place]["metrics"] = dict.fromkeys(rows[place]["metrics"])


def turn(fields, split):
    rows = [point for point in fields["points"] if point["split"] == split]
    others = [point for point in fields["points"] if point["split"] != split]
    fields["points"] = others + rows[::-1]


DAMAGES = {
    "a point of test is missing": (
        lambda fields: remove(fields, "test", 5),
        "must have the same networks on",
    ),
    "test is in another order": (
        lambda fields: turn(fields, "test"),
        "must have the same networks on",
    ),
    "a network is missing": (
        lambda fields: [remove(fields, split, 5) for split in ("validation", "test")],
        "is not like the other seeds. Found 20 points, and seed 40 22",
    ),
    "each network diverged": (
        lambda fields: blank(fields, "validation", range(11)),
        "each network diverged, on validation",
    ),
    "in percent": (
        lambda fields: fields["points"][0]["metrics"].update({"age/accuracy": 80.5}),
        "age/accuracy must be a share of 1. Found 80.5",
    ),
    "the objectives change places": (
        lambda fields: fields.update(objectives=dict([*fields["objectives"].items()][::-1])),
        "is not like the other seeds. Found {'education/accuracy': 'max', 'age/accuracy'",
    ),
    "another draw of the data": (
        lambda fields: fields.update(data=fields["data"].replace("seed=45", "seed=46")),
        "must have the data of the other runs of its seed",
    ),
    "another seed": (lambda fields: fields.update(seed=46), "seed 45. Found census, "),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_record_that_cannot_be_compared_is_named(registrations, damage):
    change, said = DAMAGES[damage]
    question = registrations("census-front")
    path = question.paths["pamal"][45]
    rewrite(path, change)
    found = refused(question)
    assert said in found and "_seed_45.json" in found


def test_the_numbers_of_a_run_are_not_looked_at_before_the_last_run(registrations):
    """So the runs that are left can be made, and nobody sees a number."""
    question = registrations("census-front")
    question.paths["ls"][45].unlink()
    change, _ = DAMAGES["in percent"]
    rewrite(question.paths["pamal"][45], change)
    assert question.record("pamal", 45).seed == 45
    assert {*verdicts(question)["verdict"]} == {"running, 212 of 213"}


def test_a_run_made_twice_is_refused_and_a_missing_one_is_named(registrations):
    question = registrations("census-front")
    path = question.paths["ls"][45]
    shutil.copy(path, path.with_name("ls_seed_45_again.json"))
    assert "ls_seed_45_again.json is no run of census-front" in refused(question)
    path.with_name("ls_seed_45_again.json").unlink()
    path.unlink()
    assert {*verdicts(read("census-front", path.parents[1]))["verdict"]} == {"running, 212 of 213"}
    with pytest.raises(InputError, match=r"running, 212 of 213; .*ls_seed_45\.json is missing"):
        registered.beside(question)


def test_one_network_that_diverged_is_not_the_one_that_is_chosen(registrations):
    """Before, a product of no numbers was 1, and so the best."""
    question = registrations("census-at-equal-cost")
    before = verdicts(question)["estimate"].tolist()
    path = question.paths["pamal-W=1"][25]
    rewrite(path, lambda fields: [blank(fields, s, [10]) for s in ("validation", "test")])
    after = verdicts(read(question.name, path.parents[1]))
    assert after["estimate"].tolist() == before
    rewrite(path, lambda fields: blank(fields, "test", range(10)))
    assert "pamal-W=1_seed_25.json: each network diverged, on test" in refused(
        read(question.name, path.parents[1])
    )


def test_a_record_without_the_number_that_is_compared_is_named(registrations):
    question = registrations("census-at-equal-cost")
    path = question.paths["pamal-W=1"][25]
    rewrite(path, lambda fields: fields["summary"]["test"].update(hypervolume=None))
    assert f"{path} has no hypervolume on test" in refused(question)


FIELDS = [
    ("census-at-equal-cost", "seeds =", "margin = 0.1\nseeds =", "Nothing reads `margin`"),
    ("census-at-equal-cost", "seeds =", "limits = [0.1]\nseeds =", "Nothing reads `limits`"),
    (
        "census-at-equal-cost",
        'split = "test"',
        'split = "training"',
        "must be that of a comparison",
    ),
    ("census-at-equal-cost", '"chosen hypervolume"', '"objectives"', "must be one number of a run"),
    ("grid-leaky", "judged = false", 'judged = false\nrule = "beyond the margin"', "reads `rule`"),
    ("tasks", "seeds =", "constant_loss = 2.25\nseeds =", "Nothing reads `constant_loss`"),
]


@pytest.mark.parametrize(("name", "old", "new", "said"), FIELDS)
def test_a_field_that_nothing_would_read_is_refused(registrations, name, old, new, said):
    with pytest.raises(InputError, match=re.escape(said)):
        registrations(name, (old, new))


def test_the_rule_of_comparisons_is_the_one_of_their_file(registrations):
    """All differences of this one are smaller than the margin."""
    found = verdicts(registrations("census-at-equal-cost"))["verdict"]
    assert {*found} == {"ahead", "behind", "level"}
    rule = ("seeds =", 'rule = "beyond the margin"\nseeds =')
    assert {*verdicts(registrations("census-at-equal-cost", rule))["verdict"]} == {"level"}


def test_what_is_asked_in_words_has_the_margin_that_is_computed(registrations):
    margin = ("margin = 0.005", "margin = 0.0001")
    assert "is computed with the margin 0.005. Found 0.0001" in refused(
        registrations("fairness-by-picks", margin)
    )


def test_a_setting_that_is_not_there_is_not_left_out():
    records = {"2-pamal": {}, "2-ls-1": {}}
    with pytest.raises(InputError, match=r"about its own settings\. Found 'soup-\.001'"):
        hypotheses.numbers(records, ["2-pamal", "soup-.001"], "test")
    with pytest.raises(InputError, match=r"about its own settings\. Found 'soup-\.001'"):
        hypotheses.pairs(records, ["soup-.001"])
    with pytest.raises(InputError, match=r"2-ls must be 2 settings\. Found 1"):
        hypotheses.of_tasks(records, 2, "ls")


def test_a_task_without_a_loss_is_not_taken_for_a_trained_one():
    question = registered.known("bottleneck-that-cannot-die")
    front = question.records["k=3-ls"][45].front("test")
    assert untrained(front, 2.25) == 0
    table = front.table.copy()
    table["top-left/loss"] = float("nan")
    assert untrained(type(front)(front.alphas, table, front.objectives), 2.25) == 1
    table = table.drop(columns="top-left/loss")
    with pytest.raises(InputError, match="Found no top-left/loss"):
        untrained(type(front)(front.alphas, table, front.objectives), 2.25)


def test_a_run_at_a_constant_answer_is_refused_unless_it_is_counted(registrations):
    def die(fields):
        for point in fields["points"]:
            point["metrics"]["education/accuracy"] = 0.6982

    question = registrations("census-front")
    path = question.paths["ls"][45]
    rewrite(path, die)
    assert f"{path}: no network is better than a constant answer on education" in refused(question)
    counted = read("census-front", path.parents[1])
    object.__setattr__(counted.asked, "constant_loss", 0.7)
    assert len(verdicts(counted)) == 8


def test_the_page_of_the_dial_counts_what_its_questions_have_not_learnt():
    for name in registered.COUNTED_ON_PAGES:
        records = registered.known(name).records.values()
        assert sum(bool(unlearnt(run)) for by_seed in records for run in by_seed.values()) > 20
    page = (FOLDER.parents[1] / "book/results/conflict.ipynb").read_text("utf-8")
    assert "so low an accuracy" in page


def test_a_grid_judges_nothing_and_no_grid_has_no_best(registrations):
    assert refused(registrations("grid-leaky-3")) == "grid-leaky-3 judges nothing."
    with pytest.raises(InputError, match="at least one file"):
        registered.best([])


def test_grids_that_are_joined_have_the_same_seeds(registrations, tmp_path):
    fewer = registrations("grid-leaky-3", ("seeds = [0, 1, 2]", "seeds = [0, 1]"))
    for path in (tmp_path / fewer.name).glob("*_seed_2.json"):
        path.unlink()
    with pytest.raises(InputError, match="must have the same seeds"):
        registered.best([read("grid-leaky"), fewer])


def test_a_grid_has_the_rates_of_its_names(registrations, tmp_path):
    name = next(iter(read("grid-leaky-3").rows))
    other = name.partition("@")[0] + "@0.5"
    question = registrations("grid-leaky-3", (f'"{name}"', f'"{other}"'))
    for path in (tmp_path / question.name).glob(f"{name}_seed_*.json"):
        path.rename(path.with_name(path.name.replace(name, other)))
    with pytest.raises(InputError, match=r"must have the rate of its name: .*@0\.5"):
        registered.best([question])


# What is registered here


def test_a_question_is_registered_once_and_none_is_taken_away(registrations, tmp_path):
    lines = (FOLDER / "HASHES").read_text("utf-8").splitlines()
    names = [line.split("  ")[1] for line in lines]
    assert sorted(names) == sorted(path.name for path in FOLDER.glob("*.toml"))
    assert [one.name for one in registered.every()] == sorted(
        n.removesuffix(".toml") for n in names
    )
    registrations("grid-leaky-3")
    hashes = tmp_path / "HASHES"
    text = hashes.read_text()
    hashes.write_text(f"{text}{64 * '0'}  grid-leaky-3.toml\n")
    with pytest.raises(InputError, match="A question is registered once"):
        read("grid-leaky-3", tmp_path)
    hashes.write_text(f"{text}{64 * '0'} grid-leaky-3.toml\n")
    with pytest.raises(InputError, match=r"must be a hash and a file\. Found '0{64} grid-leaky"):
        read("grid-leaky-3", tmp_path)
    hashes.write_text(f"{text}{64 * '0'}  taken-away.toml\n")
    with pytest.raises(InputError, match=r"Found no .*taken-away\.toml"):
        registered.every(tmp_path)


def test_one_setting_alone_was_made_twice_with_other_numbers():
    """Two machines made it for two questions; README beside the records says so."""
    seen, twice = {}, set()
    for path in FOLDER.glob("*.toml"):
        question = read(path.stem)
        for name, by_seed in question.paths.items():
            for seed in by_seed:
                run = question.rows[name].setting(seed), seed
                first = seen.setdefault(run, (path.stem, name))
                if first != (path.stem, name):
                    twice.add(frozenset({"/".join(first), f"{path.stem}/{name}"}))
    pair = {"forty-passes/pamal-one-draw", "one-run-against-a-sweep/multimnist-pamal"}
    assert twice == {frozenset(pair)}
    said = (FOLDER / "README.md").read_text("utf-8")
    assert all(f"`{name}`" in said for name in pair)
    ours, theirs = (frame.united(read(q).records, [name], "test") for q, name in
                    (one.split("/") for one in sorted(pair)))  # fmt: skip
    away = [frame.volume(ours[seed]) - frame.volume(theirs[seed]) for seed in ours]
    assert f"differ by up to {max(map(abs, away)):.4f} at a seed" in said
    assert f"by {abs(sum(away) / len(away)):.4f} in the mean" in said
