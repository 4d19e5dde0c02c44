"""Every recipe of the page, run as a reader pastes it: the first block, then the recipe's own."""

import copy
import importlib
import re
import warnings
from contextlib import nullcontext
from itertools import cycle
from pathlib import Path

import forked
import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F
from torch.utils.data import DataLoader

import pamal_core as pamal
from pamal_companion.fronts import barrier
from pamal_core.balancing import UncertaintyWeighting

BOOK = Path(__file__).parents[3] / "book"


def blocks_of(page):
    """The blocks of Python on a page, by the heading that they stand under."""
    sections = (BOOK / page).read_text("utf-8").split("\n## ")[1:]
    return {
        section.partition("\n")[0]: re.findall(r"```python\n(.*?)```", section, re.DOTALL)
        for section in sections
    }


RECIPES = blocks_of("recipes.md")
START, AFTERWARDS = RECIPES["Before each recipe"]
BF16 = torch.autocast("cpu", torch.bfloat16)


@pytest.fixture
def begin(tmp_path, monkeypatch):
    """Runs the first block in a folder of its own, and returns the names that it defines. `parts`
    are those of the method in place of none."""
    monkeypatch.chdir(tmp_path)

    def run(code=START, **parts):
        names = {}
        exec(code, names)
        if parts:
            names["make_method"] = make_another(names["make_method"], parts)
            names["method"] = names["make_method"]()
        return names

    return run


def make_another(make_method, parts):
    def make():
        method = make_method()
        return pamal.Method(method.network, method.tasks, **copy.deepcopy(parts))

    return make


def paste(code, names, framework=""):
    """Run a block after the blocks that defined `names`, if its framework is installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if framework else "error")  # of what the framework imports
        if framework:
            try:
                importlib.import_module(framework)
            except ImportError:
                pytest.skip(f"{framework} is not installed: needs the `test` extra")
        exec(code, names)


def replaced(code, line, other=""):
    assert code.count(line) == 1
    return code.replace(line, other)


def draws():
    """The same draws in the same order, for ever."""
    return cycle(np.random.default_rng(0).dirichlet([1, 1], size=(7, 1)))


def with_known_steps(names):
    """Let the method draw what `draws` has, and let the loader keep its order."""
    drawn = draws()
    names["method"].draw = lambda rng, progress=1.0: next(drawn)
    names["loader"] = DataLoader(names["data"], batch_size=32)
    return copy.deepcopy(names["method"].network)


def by_hand(network, net, batches, *, context=None, clip=None, schedule=lambda number: 1.0):
    """The members after one step for each of `batches`, in nothing but torch."""
    members = {n: p.detach().clone() for n, p in network.stacked.named_parameters()}
    optimizer = torch.optim.Adam([p.requires_grad_() for p in members.values()], lr=2e-3)
    for number, ((x, group, age), (alpha,)) in enumerate(zip(batches, draws(), strict=False)):
        optimizer.param_groups[0]["lr"] = 2e-3 * schedule(number)
        optimizer.zero_grad()
        shares = torch.as_tensor(alpha, dtype=torch.float32)
        theta = {name: torch.tensordot(shares, both, 1) for name, both in members.items()}
        with context or nullcontext():
            groups, ages = functional_call(net, theta, x)
        losses = [F.cross_entropy(groups.float(), group), F.huber_loss(ages.float()[:, 0], age)]
        (shares @ torch.stack(losses)).backward()
        if clip:
            nn.utils.clip_grad_norm_(members.values(), clip)
        optimizer.step()
    return members


def assert_members(network, expected, atol):
    for name, both in network.stacked.named_parameters():
        torch.testing.assert_close(both.detach(), expected[name].detach(), atol=atol, rtol=0)


def moved(network, before):
    return (network.members() - before.members()).abs().max().item()


def test_every_recipe_has_a_test():
    own = Path(__file__).read_text("utf-8")
    for heading in RECIPES:
        assert own.count(f'"{heading}"') >= 1, heading


def test_the_first_block_makes_a_front_that_needs_no_reference(begin):
    names = begin()
    paste(AFTERWARDS, names)
    assert len(names["front"]) == 11 and 0 <= names["front"].hypervolume() < 1


@pytest.mark.parametrize("half", [False, True])
def test_a_loop_of_your_own_takes_the_steps_of_plain_torch(begin, half):
    names = begin()
    before = with_known_steps(names)
    context = BF16 if half else nullcontext()
    with context:
        paste(*RECIPES["A loop of your own"], names)
    network = names["method"].network
    expected = by_hand(before, names["Net"](), [*names["loader"]] * 5, context=context)
    assert_members(network, expected, atol=1e-3 if half else 1e-5)
    assert moved(network, before) > 0.05


def test_bfloat16_is_not_the_same_as_float32(begin):
    (code,) = blocks_of("running.md")["bfloat16"]
    half, full = begin(), begin()
    with_known_steps(half), with_known_steps(full)
    paste(code, half)
    pamal.train(full["method"], full["loader"], epochs=5, progress=False)
    found, expected = (names["method"].network.members() for names in (half, full))
    assert found.isfinite().all() and not torch.equal(found, expected)
    torch.testing.assert_close(found, expected, atol=0.02, rtol=0)


def test_the_parts_of_a_batch_make_the_step_of_the_whole_one(begin):
    (code,) = RECIPES["Several batches in a step"]
    names = begin()
    before = with_known_steps(names)
    paste(code, names)
    expected = by_hand(before, names["Net"](), names["loader"])
    assert_members(names["method"].network, expected, atol=1e-5)
    assert moved(names["method"].network, before) > 0.01
    # Adam hardly sees a gradient that is four times as long, but a step of SGD does.
    ends = []
    for undivided in (code, replaced(code, "        gradient /= len(parts)\n", "        pass\n")):
        names = begin()
        before = with_known_steps(names)
        paste(undivided.replace("Adam", "SGD"), names | {"loader": [*names["loader"]][:1]})
        ends.append(moved(names["method"].network, before))
    assert ends[1] == pytest.approx(4 * ends[0], rel=1e-3)


PROCESS = """
import os
import sys
import warnings
warnings.simplefilter("ignore")  # of what frameworks import
import torch
torch.set_num_threads(1)
for name, recipe in {recipes!r}.items():
    names = dict()
    exec({start!r}, names)
    exec(recipe, names)
    place = os.environ.get("RANK", "0") + "_of_" + os.environ.get("WORLD_SIZE", "1")
    torch.save(names["method"].network.members(), name + place + ".pt")
    if torch.distributed.is_initialized() and {ends}:
        torch.distributed.destroy_process_group()
"""


def in_processes(folder, recipes, *, ends, **given):
    """Run `recipes` in two processes that know of each other, and in one alone: the members of each
    process, by the name of the recipe."""
    code = PROCESS.format(recipes=recipes, start=START, ends=ends)
    (alone,) = forked.ranks(1)
    environments = [rank | given for rank in (*forked.ranks(), alone)]
    exit_codes, errors = forked.run(code, folder, environments)
    assert exit_codes == [0, 0, 0], errors
    places = ("0_of_2", "1_of_2", "0_of_1")
    return {name: [torch.load(folder / f"{name}{at}.pt") for at in places] for name in recipes}


def assert_two_are_one(start, found):
    """With Adam as on the page, and with SGD: Adam does not see a gradient of the wrong length."""
    for name, least in {"pasted": 0.05, "sgd": 0.005}.items():
        first, second, alone = found[name]
        assert torch.equal(first, second) and (first - start).abs().max() > least
        torch.testing.assert_close(first, alone, atol=1e-5, rtol=0)


def test_two_processes_of_torch_end_as_one(begin, tmp_path):
    start = begin()["method"].network.members()
    (code,) = RECIPES["Several processes"]
    recipes = {"pasted": code, "sgd": replaced(code, "torch.optim.Adam", "torch.optim.SGD")}
    assert_two_are_one(start, in_processes(tmp_path, recipes, ends=True))


def test_two_processes_of_accelerate_end_as_one(begin, tmp_path):
    pytest.importorskip("accelerate", reason="needs the `test` extra")
    start = begin()["method"].network.members()
    (code,) = RECIPES["Accelerate, with two processes"]
    recipes = {"pasted": code, "sgd": replaced(code, "torch.optim.Adam", "torch.optim.SGD")}
    recipes["without"] = replaced(code, "optimizer.register_step_pre_hook(average_gradients)\n")
    found = in_processes(tmp_path, recipes, ends=False, ACCELERATE_USE_CPU="true")
    first, second, _ = found.pop("without")
    assert (first - second).abs().max() > 1e-3
    assert_two_are_one(start, found)


def test_lightning_goes_on_from_its_checkpoint_with_the_same_front(begin):
    fitted, resumed = RECIPES["Lightning, with checkpoints"]
    names = begin()
    before = with_known_steps(names)
    paste(fitted, names, "lightning")
    network = names["method"].network
    expected = by_hand(before, names["Net"](), [*names["loader"]] * 3, context=BF16)
    assert_members(network, expected, atol=1e-3)

    front = pamal.evaluate(network, names["tasks"], names["validation"])
    paste(resumed, names, "lightning")
    assert names["front"].table.equals(front.table)
    trainer, again = names["restored"].trainer, names["restored"].network
    assert trainer.current_epoch == 5 and trainer.global_step == 5 * len(names["loader"])
    (optimizer,) = trainer.optimizers
    assert {int(state["step"]) for state in optimizer.state.values()} == {trainer.global_step}
    assert moved(again, network) > 0.01


def test_a_checkpoint_of_lightning_has_what_is_no_weight(begin):
    """The memory of a balancer and examples, and, by the attribute of the page, the weights."""
    fitted, resumed = RECIPES["Lightning, with checkpoints"]
    norm = replaced(START, "nn.ReLU())", "nn.BatchNorm1d(16), nn.ReLU())")
    names = begin(norm, balancer=UncertaintyWeighting(2))
    names["method"].network.calibration = [[names["x"][:100]]]
    paste(fitted, names, "lightning")
    learnt = [weight.detach().clone() for weight in names["method"].balancer.parameters()]
    assert any(weight.abs().max() > 1e-3 for weight in learnt)
    paste(replaced(resumed, "trainer(5)", "trainer(3)"), names, "lightning")
    method = names["restored"].method
    for weight, other in zip(method.balancer.parameters(), learnt, strict=True):
        assert torch.equal(weight, other)
    assert torch.equal(method.network.calibration[0][0], names["x"][:100])

    line = "self.method, self.network, self.lr = method, method.network, lr"
    without = replaced(fitted, line, "self.method, self.lr = method, lr")
    paste(replaced(without, "trainer(3)", "trainer(1)"), begin(), "lightning")
    assert not torch.load("checkpoints/last.ckpt")["state_dict"]

    automatic = fitted
    for line in (
        "        self.automatic_optimization = False\n",
        "        optimizer = self.optimizers()\n        optimizer.zero_grad()\n",
        "        optimizer.step()\n",
    ):
        automatic = replaced(automatic, line)
    returned = "        return losses.sum()\n"
    automatic = replaced(
        automatic, "\n    def configure_optimizers", f"{returned}\n    def configure_optimizers"
    )
    with pytest.raises(RuntimeError, match="does not require grad"):
        paste(automatic, begin(), "lightning")


def evaluated(trainer):
    history = trainer.state.log_history
    return [row["eval_hypervolume"] for row in history if "eval_hypervolume" in row]


def test_the_trainer_reports_the_hypervolume_of_each_epoch(begin):
    (code,) = RECIPES["The Trainer of Hugging Face, with evaluation"]
    names = begin()
    paste(code, names, "transformers")
    state, network = names["trainer"].state, names["method"].network
    volumes = evaluated(names["trainer"])
    assert len(volumes) == 5 and np.isfinite(volumes).all()
    front = pamal.evaluate(network, names["tasks"], names["validation"])
    assert front.hypervolume() == pytest.approx(max(volumes), rel=1e-6)
    best = 1 + volumes.index(max(volumes))
    assert best > 1 and state.best_model_checkpoint.endswith(f"checkpoint-{64 * best}")

    # A number that falls: the network of the first epoch is then the best.
    falling = replaced(code, "front.hypervolume()", "-front.hypervolume()")
    names = begin()
    paste(
        replaced(falling, '"num_train_epochs": 5', '"num_train_epochs": 2'), names, "transformers"
    )
    first, second = evaluated(names["trainer"])
    front = pamal.evaluate(names["method"].network, names["tasks"], names["validation"])
    assert -front.hypervolume() == pytest.approx(first, rel=1e-6) and second < first - 0.01

    evaluation = code[code.index("    def evaluate(") : code.index("def as_rows(")]
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        paste(replaced(code, evaluation, "\n\n"), begin(), "transformers")
    with pytest.raises(ValueError, match="batch received was empty"):
        paste(replaced(code, '"remove_unused_columns": False, '), begin(), "transformers")


def test_the_trainer_takes_the_steps_of_plain_torch(begin, monkeypatch):
    """In float32: its fused optimiser rounds otherwise, which bfloat16 makes larger."""
    (code,) = RECIPES["The Trainer of Hugging Face, with evaluation"]
    code = replaced(code, '"num_train_epochs": 5, "bf16": True', '"num_train_epochs": 1')
    names, batches, step = begin(), [], pamal.Method.step
    before = with_known_steps(names)
    monkeypatch.setattr(pamal.Method, "step", lambda self, b: batches.append(b) or step(self, b))
    paste(code, names, "transformers")
    monkeypatch.undo()
    assert len(batches) == 64 and {*batches[0]} == {"x", "group", "age"}
    rows = [(batch["x"], batch["group"], batch["age"]) for batch in batches]
    schedule = {"clip": 1.0, "schedule": lambda number: 1 - number / 64}
    expected = by_hand(before, names["Net"](), rows, **schedule)
    assert_members(names["method"].network, expected, atol=1e-5)


def test_optuna_prunes_trials_and_keeps_the_best(begin):
    pytest.importorskip("optuna", reason="needs the `test` extra")
    (code,) = RECIPES["Optuna, with pruning"]
    names = begin()
    paste(code, names, "optuna")
    study = names["study"]
    reported = {trial.number: trial.intermediate_values for trial in study.trials}
    pruned = [trial.number for trial in study.trials if trial.state.name == "PRUNED"]
    complete = [trial for trial in study.trials if trial.state.name == "COMPLETE"]
    assert len(study.trials) == 10 == len(pruned) + len(complete) and min(pruned) >= 3
    assert all(2 <= len(reported[number]) < 5 for number in pruned)
    assert all([*reported[trial.number]] == [1, 2, 3, 4, 5] for trial in complete)
    assert study.best_value == max(trial.value for trial in complete)
    for number in pruned:
        *_, (epoch, volume) = reported[number].items()
        others = [reported[trial.number][epoch] for trial in complete if trial.number < number]
        assert volume < max(others)


def test_a_metric_of_the_whole_set_is_the_same_in_batches_of_any_size(begin):
    (code,) = RECIPES["A metric of the whole set"]
    names = begin()
    pamal.train(names["method"], names["loader"], epochs=2, progress=False)
    paste(code, names)
    front, network = names["front"], names["method"].network
    ((x, _, age),) = [*names["validation"]]
    for alpha, found in zip(front.alphas, front.table["age/rank correlation"], strict=True):
        output = network.predict(x, alpha)[1].flatten()
        assert found == pytest.approx(spearmanr(output, age).statistic, abs=1e-5)
    small = DataLoader(names["held_out"], batch_size=7)
    again = pamal.evaluate(network, names["ranked"], small, progress=False)
    np.testing.assert_allclose(again.table, front.table, rtol=1e-5)


def test_a_loader_for_each_task_is_read_to_its_end(begin, monkeypatch):
    (code,) = RECIPES["A loader for each task"]
    names, batches, step = begin(), [], pamal.Method.step
    monkeypatch.setattr(
        pamal.Method, "step", lambda self, b, alphas: batches.append(b) or step(self, b, alphas)
    )
    paste(code, names)
    assert len(batches) == 5 * 10 and all({*batch} == {"group", "age"} for batch in batches)
    groups, ages = (
        torch.cat([batch[task][0] for batch in batches[:10]]) for task in ("group", "age")
    )
    assert len(groups.unique(dim=0)) == 320 and len(ages.unique(dim=0)) == 192 < len(ages)
    front, method = names["front"], names["method"]
    assert [*front.table] == ["group/accuracy", "group/loss", "age/R2", "age/loss"]
    first, last = method.epoch_losses[0], method.epoch_losses[-1]
    assert len(method.epoch_losses) == 5 and last[0] < first[0] and last[1] < first[1]
    # The rows of test data are judged for both tasks: as if one loader had both targets.
    x, group, age = names["x"][512:], names["group"][512:], names["age"][512:]
    both = pamal.evaluate(method.network, names["tasks"], [(x, group, age)])
    np.testing.assert_allclose(both.table, front.table, rtol=1e-5)
    x, group, age = x[:8], group[:8], age[:8]
    assert method.step({"group": (x, group), "age": (x, age)}, [[0.5, 0.5]]).isfinite().all()


def test_members_of_peft_are_trained_mixed_and_exported_as_an_adapter(begin):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its dependencies
        peft = pytest.importorskip("peft", reason="needs the `test` extra")
    (code,) = RECIPES["Adapters by PEFT"]
    names = begin()
    paste(replaced(code, "finished = Net()", "finished = given"), given_net(names), "peft")
    # What is finished stays as it is and is kept once, and an optimiser has the adapters alone.
    finished, before = names["given"], names["before"]
    after = finished.state_dict()
    assert after.keys() == before.keys() and all(torch.equal(after[n], before[n]) for n in before)
    network, x = names["network"], names["x"]
    trained = [name for name, weight in network.named_parameters() if weight.requires_grad]
    assert len(trained) == 6 and all("lora_" in name for name in trained)
    frozen = [w for w in network.parameters() if not w.requires_grad]
    assert sum(w.numel() for w in frozen) == sum(w.numel() for w in finished.parameters())
    loaded = peft.PeftModel.from_pretrained(copy.deepcopy(finished), "adapter")
    with torch.no_grad():
        outputs = loaded(x)
    for one, other in zip(outputs, network.predict(x, [0.3, 0.7]), strict=True):
        torch.testing.assert_close(one, other)
    assert not torch.equal(outputs[0], finished(x)[0])

    shared = replaced(code, "deepcopy(finished)", "finished")
    with pytest.raises(pamal.InputError, match="must not share"):
        paste(shared, begin(), "peft")
    paste(code, begin(), "peft")


def given_net(names):
    names["given"] = names["Net"]()
    names["before"] = copy.deepcopy(names["given"].state_dict())
    return names


def test_checkpoint_files_become_a_front(begin):
    (code,) = RECIPES["Members from checkpoint files"]
    names = begin()
    model, tasks = names["Net"](), names["tasks"]
    for name, weights in (("both", [0.5, 0.5]), ("group", [0.9, 0.1]), ("age", [0.1, 0.9])):
        network = pamal.WeightEnsemble([model], task_weights=[weights])
        epochs = 10 if name == "both" else 2
        method = pamal.Method(network, tasks)
        pamal.train(method, names["loader"], epochs=epochs, lr=0.01, progress=False)
        tuned = network.export([1.0])
        model = tuned if name == "both" else model
        torch.save(nn.DataParallel(tuned).state_dict(), f"{name}.pt")
    paste(code, names)
    network, between = names["network"], names["between"]
    for member, file in zip(network.members(), ("group.pt", "age.pt"), strict=True):
        expected = torch.cat([weight.flatten() for weight in torch.load(file).values()])
        torch.testing.assert_close(member.sort().values, expected.sort().values)
    assert len(between) == 11 and max(barrier(between).values()) < 0.05
    point = between.choose(best="age", at_least={"group": 0.8})
    assert type(names["model"]) is names["Net"]
    with torch.no_grad():
        outputs = names["model"](names["x"])
    for one, other in zip(outputs, network.predict(names["x"], point.alpha), strict=True):
        torch.testing.assert_close(one, other)
    line = '    consume_prefix_in_state_dict_if_present(weights, "module.")\n'
    with pytest.raises(RuntimeError, match="Unexpected key"):
        paste(replaced(code, line), names)


def test_a_saved_network_answers_with_the_same_bits_elsewhere(begin, tmp_path):
    save, load = RECIPES["Saving and loading, with BatchNorm"]
    names = begin()
    paste(save, names)
    alpha = {"group": 0.3, "age": 0.7}
    torch.save(names["network"].predict(names["x"], alpha), "known.pt")
    make_net = save[: save.index("\n\n\n")]
    check = f"""
for one, other in zip(again.predict(x, {alpha}), torch.load("known.pt"), strict=True):
    assert torch.equal(one, other)
"""
    (exit_code,), (errors,) = forked.run("\n".join([START, make_net, load, check]), tmp_path)
    assert exit_code == 0, errors

    line = 'again.calibration = saved["calibration"]\n'
    with pytest.warns(UserWarning, match="All alphas share"):
        exec(replaced(load, line), names)
        outputs = names["again"].predict(names["x"], alpha)
    assert (outputs[1] - torch.load("known.pt")[1]).abs().max() > 1e-3
