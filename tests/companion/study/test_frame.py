"""A setting is told by the options that it has differently from the paper; records by setting."""

import numpy as np
import pytest
from made_up import DATA, record, runs_of, staircase

from pamal_companion.fronts import union
from pamal_companion.runs import grid
from pamal_companion.study import frame, paper
from pamal_companion.study.frame import Setting, select
from pamal_core.errors import InputError


def test_all_records_are_read_and_copies_count_once(runs):
    rows = {run.records: run for run in grid.by_record().values()}.values()
    made = {(frame.of(run), run.seed) for run in rows if run.is_done(frame.RESULTS)}
    assert {(s, n) for s, found in runs.items() for n in found} == made | {(select("toy/all"), 0)}
    assert all([*by_seed] == sorted(by_seed) for by_seed in runs.values())


def test_the_papers_runs_have_no_options_and_every_value():
    for experiment in paper.DATA:
        for method in paper.PRINTED:
            setting = Setting(experiment, method)
            assert setting.values == paper.options_of_run(experiment, method)
            assert frame.setting(experiment, method, **setting.values) == setting
    assert paper.options_of_run("census", "pamal")["lam"] == 5.0
    assert paper.options_of_run("multimnist", "pamal")["W"] == 4
    assert paper.options_of_run("multimnist", "cosmos")["p"] == 1.2
    assert "W" not in dict(select("multimnist/ls").options)


def test_what_a_run_leaves_unsaid_is_our_default_and_not_the_papers_value():
    said, unsaid = record("census/ls"), record("census/ls")
    del unsaid.options["masters"]
    assert frame.of(said) == Setting("census", "ls")
    assert frame.of(unsaid) == select("census/ls masters=mended")
    three = record("multimnist3/pamal")
    assert frame.of(three) == Setting("multimnist3", "pamal")
    del three.options["lr_scaling"]
    assert frame.of(three) == select("multimnist3/pamal lr_scaling=members")
    digits = record("multimnist/pamal")
    del digits.options["split"]  # our default is the paper's
    assert frame.of(digits) == Setting("multimnist", "pamal")


def test_the_order_of_options_and_values_equal_to_the_papers_do_not_matter():
    one = select("multimnist/pamal lr=0.002; average=0.99; W=4")
    assert one == select("multimnist/pamal average=0.99; lr=0.002") == one.having(W=4)
    assert dict(one.options) == {"lr": 0.002, "average": 0.99}
    assert one.having(lr=None, average=None) == Setting("multimnist", "pamal")
    assert one.having(W=2, lam=1.0).values["W"] == 2
    assert hash(one) == hash(one.having())


def test_lists_are_keys_too_at_any_depth():
    setting = select("multimnist/ls weights=[0.9, 0.1]")
    assert dict(setting.options) == {"weights": (0.9, 0.1)}
    assert setting == frame.of(record("multimnist/ls", weights=[0.9, 0.1]))
    assert hash(frame.setting("mine", "pamal", matrix=[[1, 0], [0, 1]]))


@pytest.mark.parametrize("text", ["", "multimnist", "multimnist/", "mnist/pamal", "pamal W=2"])
def test_what_is_no_setting_is_refused(text):
    with pytest.raises(InputError, match="A setting is written"):
        select(text)


def test_the_rate_is_that_of_adam():
    assert select("census/pamal lr=0.002").rate == 0.004
    assert select("multimnist3/pamal lr_scaling=members").rate == pytest.approx(0.003)
    assert select("census/pamal lr_scaling=plain").rate == 0.001
    assert select("census/ls lr=0.002").rate == 0.002
    assert select("utkface/pamal").rate == pytest.approx(0.003)
    assert select("cityscapes/pamal").rate == pytest.approx(0.0002)


def test_passes_count_draws_of_pamal_only():
    assert select("multimnist/pamal").passes == 40
    assert select("multimnist/ls epochs=40").passes == 40
    assert select("census/phn W=7").passes == 10


def test_labels_name_what_differs_in_words():
    assert select("multimnist/pamal").label() == "PaMaL"
    assert select("multimnist/pamal").label("W", "lam") == "PaMaL, W = 4, λ = 0"
    assert select("multimnist/pamal").name() == "PaMaL, W = 4, λ = 0"
    assert select("multimnist/pamal lam=5").name("W") == "PaMaL, λ = 5, ordered sign"
    assert select("multimnist/pamal lam=5; penalty=printed").name() == (
        "PaMaL, W = 4, λ = 5, printed sign"
    )
    long = select("census/pamal lr=0.0003; draws=stratified; average=0.999; batch_size=1024")
    assert long.label() == ("PaMaL, batches of 1,024, rate 0.0006, stratified draws, EMA 0.999")
    assert long.label(without=["average", "lr"]) == "PaMaL, batches of 1,024, stratified draws"
    assert select("multimnist/ls weights=[0.9, 0.1]").label() == "LS, weights = (0.9, 0.1)"
    assert (
        select("multimnist/ls batch_norm=recalibrated").label() == "LS, batch norm = recalibrated"
    )


def test_single_task_learning_names_its_task():
    labels = [select(f"utkface/stl task={t}").label() for t in range(3)]
    assert labels == ["STL, age", "STL, gender", "STL, ethnicity"]
    assert frame.setting("mine", "stl", task=1).label() == "STL, 1"


def test_a_setting_with_tasks_of_its_own_is_named_and_counted_by_them():
    four = ["age", "education", "income", "never-married"]
    stl = frame.setting("census", "stl", task=1, tasks=["full-year", "income"])
    assert stl.task == "income" and stl.label().startswith("STL, income,")
    assert frame.setting("census", "stl", task=3, tasks=four).task == "never-married"
    assert frame.setting("census", "pamal", tasks=four, lr=0.0005).rate == 0.002
    assert frame.setting("census", "soup", tasks=four, epochs=10, shared_epochs=5).passes == 25


def test_no_two_settings_of_the_grid_share_a_label():
    for experiment in paper.DATA:
        settings = {
            frame.of(run) for run in grid.by_record().values() if run.experiment == experiment
        }
        assert len({setting.label() for setting in settings}) == len(settings), experiment


def test_data_that_are_not_full_are_a_setting_of_their_own():
    full, sample = record(), record(seed=1, data="multimnist/sample/x")
    own, formula = record(seed=2, data="mine"), record(seed=3, data="formula")
    assert [frame.is_full(one) for one in (full, sample, own, formula)] == [
        True, False, False, True,
    ]  # fmt: skip
    found = runs_of(full, sample, own)
    assert {dict(s.options).get("data"): [*by_seed] for s, by_seed in found.items()} == {
        None: [0], "sample": [1], "mine": [2],
    }  # fmt: skip
    assert [*found[Setting("multimnist", "pamal")]] == [0]
    assert runs_of(formula).keys() == {Setting("multimnist", "pamal")}


def test_of_a_seed_that_is_there_twice_the_last_record_counts():
    first, second = record(points=[(0.1, 0.1)]), record(points=[(0.6, 0.6)])
    (by_seed,) = runs_of(first, record(seed=7), second).values()
    assert [*by_seed] == [0, 7] and by_seed[0] is second


def test_a_folder_is_read_at_any_depth_and_again_when_a_record_changes(tmp_path):
    record("census/ls", seed=3).write(tmp_path / "a/b/x_seed_3.json")
    record("census/ls", seed=5).write(tmp_path / ".ipynb_checkpoints/x-checkpoint.json")
    record(data="multimnist/sample/x").write(tmp_path / "sample.json")
    sample = select("multimnist/pamal data=sample")
    assert frame.read(tmp_path).keys() == {Setting("census", "ls"), sample}
    record("census/ls", seed=4).write(tmp_path / "a/b/x_seed_3.json")
    assert [*frame.read(tmp_path)[Setting("census", "ls")]] == [4]


def test_records_of_one_setting_and_of_other_data_are_refused():
    one, two = record(), record(seed=1, data="multimnist/full/offset=6/seed=0/y")
    with pytest.raises(InputError, match=r"same data.* Found multimnist/.*/x and multimnist/.*/y"):
        runs_of(one, two)
    assert len(runs_of(one, record(seed=1, data=two.data, offset=8))) == 2


def test_a_folder_without_records_is_refused_unless_it_is_our_own(tmp_path, monkeypatch):
    for folder in (tmp_path / "nothing", str(tmp_path)):
        with pytest.raises(InputError, match=f"`results` must be .* Found none in {folder}"):
            frame.read(folder)
    monkeypatch.setattr(frame, "FILE", tmp_path / "measured.csv")
    assert frame.read() == {} == frame.with_others()


def test_a_setting_without_a_record_is_named():
    found = runs_of(record("census/ls"))
    with pytest.raises(InputError, match=r"a record of Census: UW, 5 epochs\. Found none"):
        found[select("census/uw epochs=5")]
    assert found.get(select("census/uw")) is None


def test_a_damaged_record_is_named_and_unknown_options_are_a_setting(tmp_path):
    record(new_option="x").write(tmp_path / "new.json")
    (setting,) = frame.read(tmp_path)
    assert setting.label() == "PaMaL, new option = x"
    (tmp_path / "damaged.json").write_text("{")
    with pytest.warns(UserWarning, match=r"damaged\.json is not a whole record"):
        assert [*frame.read(tmp_path)] == [setting]


def test_an_experiment_of_a_users_own_is_read_as_well(tmp_path):
    own = record().model_copy(update={"experiment": "mine", "data": "mine/full/x"})
    own.write(tmp_path / "mine.json")
    (setting,) = frame.read(tmp_path)
    assert setting.experiment == "mine" and setting.label().startswith("PaMaL")


def test_a_run_stands_with_the_seeds_of_its_setting_a_sample_alone(tmp_path):
    for seed in (3, 5, 7):
        record(seed=seed).write(tmp_path / f"pamal_seed_{seed}.json")
    record(seed=3, lr=0.1).write(tmp_path / "other.json")
    mine, again, wide = record(seed=4), record(seed=5), record(seed=1, W=5)
    setting = Setting("multimnist", "pamal")
    known = frame.read(tmp_path)
    assert [*frame.with_others(mine, known=known)[setting]] == [3, 4, 5, 7]
    both = frame.with_others(again, wide, known=known)
    assert [*both[setting]] == [3, 5, 7] and both[setting][5] is again
    assert both.keys() == {setting, setting.having(W=5)}
    for alone in (record(data="multimnist/sample/x"), record(W=5)):
        assert frame.with_others(alone, known=known) == runs_of(alone)


def test_a_measure_of_a_setting_is_named_by_seed_and_empty_without_records(runs):
    found = runs_of(*(record(points=[(s / 10, 1.0)], seed=s) for s in (7, 3, 5)))
    values = frame.measured(found, Setting("multimnist", "pamal"), "hypervolume", "test")
    assert values.to_dict() == pytest.approx({3: 0.3, 5: 0.5, 7: 0.7})
    assert [*values.index] == [3, 5, 7]
    assert frame.measured(runs, select("utkface/pamal"), "hypervolume", "test").empty


def test_data_ids_of_made_up_records_are_those_of_the_repository(runs):
    """So that the other tests test what a page shows."""
    full = {s: by for s, by in runs.items() if "data" not in dict(s.options)}
    real = {s.experiment: next(iter(by.values())).data for s, by in full.items()}
    for experiment, found in real.items():
        assert found.split("/")[:2] == DATA[experiment].split("/")[:2]


def test_rows_have_the_options_and_measures_of_each_run():
    found = runs_of(record(points=[(0.5, 1.0)], seed=7, W=2), record("multimnist/ls", seed=3))
    rows = frame.rows(found, ["W"], ["hypervolume", "centre"], "test")
    assert rows["setting"].tolist() == [*found] and rows["seed"].tolist() == [7, 3]
    assert rows["W"].tolist() == [2, 1]
    assert rows.loc[0, ["hypervolume", "centre"]].tolist() == [0.5, 0.75]


# Several runs as one.


def test_a_union_is_at_least_as_large_as_each_of_its_runs(runs):
    for setting in (select("multimnist/ls"), select("census/pamal")):
        every = [*runs[setting].values()]
        fronts = [one.front("test") for one in every]
        volume = frame.volume(union(*fronts))
        points = np.concatenate([front.values for front in fronts])
        assert volume == pytest.approx(staircase(points), abs=1e-12)
        assert volume >= max(map(frame.volume, fronts))


def test_only_seeds_that_every_setting_has_are_grouped():
    two = [Setting("multimnist", "ls"), select("multimnist/ls weights=[0.9, 0.1]")]
    made = [record("multimnist/ls", [(0.5, 0.5)], seed=s) for s in (3, 5, 7)]
    made += [record("multimnist/ls", [(0.9, 0.1)], seed=s, weights=[0.9, 0.1]) for s in (7, 5)]
    found = frame.united(runs_of(*made), two)
    assert [*found] == [5, 7]
    assert found[5].values.tolist() == [[0.5, 0.5], [0.9, 0.1]]
    assert frame.united({}, two) == {}
