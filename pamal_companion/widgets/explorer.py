"""The explorer of a trained ensemble in JupyterLab. The packages of the `book` extra are needed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import anywidget
import numpy as np
import traitlets
from torch import Tensor, nn

from pamal_companion.baselines.low_rank import MIXTURES
from pamal_companion.data.batches import batches
from pamal_companion.data.splits import Splits
from pamal_companion.runs.experiment import Experiment
from pamal_companion.runs.judging import calibration
from pamal_companion.runs.options import Options
from pamal_companion.runs.records import Record
from pamal_companion.widgets import explorer_data, html
from pamal_core.errors import InputError
from pamal_core.evaluation import measure
from pamal_core.front import Front
from pamal_core.inputs import Batch, Inputs, num_examples, to_device
from pamal_core.network import Network, check_num_tasks, check_order
from pamal_core.simplex import on_simplex
from pamal_core.statistics import Calibration
from pamal_core.tasks import Task, outputs_by_task


class Explorer(anywidget.AnyWidget):
    """Move alpha, and see what the network there achieves and what it says of `inputs`.

    Once alpha rests, the kernel evaluates the network there on `loader`, exactly as
    `pamal_core.evaluate` does with these arguments, and shows those of its metrics that are finite,
    its place on `front`, its distance to each member in weight space, and its outputs for `inputs`,
    of n examples. With `targets`, one tensor [n] per task, outputs are marked right or wrong. A
    bound on one of the quantities shown leads to the point that `Front.choose` picks.

    `beside` has what other networks achieve, by name: a value for each column of `front` that they
    have, such as `{"LS": {"price/loss": 0.4, "sold/accuracy": 0.9}}`. Each is a mark with its name
    where it has both quantities shown, and a line where it has one.

    It opens at `front.choose()`. `alpha` [M] can be read and set from Python; `model()` is the
    network there. InputError for names that do not fit.
    """

    _esm = html.source("explorer")
    _css = html.style()
    tasks = traitlets.List(traitlets.Unicode()).tag(sync=True)
    alpha = traitlets.List(traitlets.Float()).tag(sync=True)
    points = traitlets.Dict().tag(sync=True)
    beside: Any = traitlets.List().tag(sync=True)
    gram: Any = traitlets.List().tag(sync=True)
    about = traitlets.Unicode().tag(sync=True)
    pictures = traitlets.List(traitlets.Unicode()).tag(sync=True)
    names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    predictions: Any = traitlets.List().tag(sync=True)
    measured = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        network: Network,
        tasks: Sequence[Task],
        front: Front,
        inputs: Inputs,
        *targets: Tensor,
        loader: Iterable[Batch],
        calibration: Calibration | None = None,
        beside: Mapping[str, Mapping[str, Any]] | None = None,
        about: str = "",
    ) -> None:
        names = [task.name for task in tasks]
        check_num_tasks(network, len(names))
        check_order(network, names)
        if (judged := [one.task for one in front.objectives]) != names:
            raise InputError(
                f"`front` must have the tasks {', '.join(names)}. Found {', '.join(judged)}."
            )
        if targets and len(targets) != len(names):
            raise InputError(
                f"There must be targets for each of {len(names)} tasks, or none. Found "
                f"{len(targets)}."
            )
        others = explorer_data.beside(front, beside or {})
        self._network, self._tasks, self._loader = network, list(tasks), loader
        self._calibration, self._inputs, self._targets = calibration, inputs, targets
        super().__init__(
            tasks=names,
            alpha=front.choose().alpha.tolist(),
            points=explorer_data.points(front),
            beside=others,
            gram=explorer_data.gram(network),
            about=about,
            pictures=explorer_data.pictures(inputs),
            names=[explorer_data.named(targets, i) for i in range(num_examples(inputs))],
        )  # alpha is observed, so that it is measured once all is set

    def model(self) -> nn.Module:
        """Return the network at `alpha` as `export` has it, with BatchNorm as `calibration`
        says."""
        return self._network.export(self.alpha, calibration=self._calibration)

    @traitlets.validate("alpha")
    def _is_on_simplex(self, proposal: dict[str, Any]) -> list[float]:
        return on_simplex(proposal["value"], self._network.num_members).tolist()

    @traitlets.observe("alpha")
    def _measure(self, _change: object = None) -> None:
        """Evaluate and predict at `alpha`; both reach the page in one message."""
        alpha, network, calibration = list(self.alpha), self._network, self._calibration
        point = network.alpha_tensor(alpha)[None].double().cpu().numpy()
        known = network.calibration_for(calibration)
        table = measure(network, self._tasks, self._loader, point, known)
        outputs = network.predict(self._inputs, alpha, calibration=calibration)
        metrics = table.iloc[0][np.isfinite(table.iloc[0])].to_dict()
        with self.hold_sync():
            by_task = outputs_by_task(self._tasks, outputs)
            self.predictions = explorer_data.predictions(self._tasks, by_task, self._targets)
            self.measured = {"alpha": alpha, "metrics": metrics}


def explore(
    experiment: Experiment,
    options: Options,
    splits: Splits,
    record: Record,
    network: Network | None,
) -> Explorer | None:
    """Return the explorer of a finished run, for the end of its notebook: its front on validation,
    and its answers to the first eight test examples.

    None where there is nothing to move, and a line that says why: no weights at hand, one member,
    or a method whose networks are no mixtures of members.
    """
    if network is None:
        print("No explorer here: of this run there is the record, without the weights.")
        return None
    if not isinstance(network, MIXTURES) or network.num_members == 1:
        print(f"No explorer here: {options.method} trains no members to mix.")
        return None
    device = network.device
    inputs, *targets = to_device(splits.test[:8], device)
    return Explorer(
        network,
        experiment.tasks_of(options),
        record.front("validation"),
        inputs,
        *targets,
        loader=batches(splits.validation, experiment.evaluation_batch, device=device),
        calibration=calibration(experiment, experiment.resolved(options, splits), splits),
        about=splits.description,
    )
