"""A front to be moved in that needs no kernel, in pages and notebooks: by its values, or as a
triangle for each of three tasks."""

from collections.abc import Mapping
from typing import Any

from IPython.display import HTML
from jaxtyping import UInt8
from numpy import ndarray as Array

from pamal_companion.data.splits import Splits
from pamal_companion.runs.experiment import Experiment
from pamal_companion.runs.judging import calibration
from pamal_companion.runs.options import Options
from pamal_companion.widgets import explorer_data, html
from pamal_core.errors import InputError
from pamal_core.front import Front
from pamal_core.inputs import to_device
from pamal_core.network import Network
from pamal_core.tasks import outputs_by_task


def explorer(
    front: Front,
    about: str,
    *,
    beside: Mapping[str, Mapping[str, Any]] | None = None,
    answers: Mapping[str, Any] | None = None,
) -> HTML:
    """Return `front`, of a member for each task, as the explorer. Alpha moves on the points of the
    front, so that every number shown was measured.

    - `about`: a line that says where the numbers are from.
    - `beside`: what other networks achieve, by name, as the `Explorer` has it.
    - `answers`: what the networks say, from `answers_of` or `views_of`.

    Raise InputError for another number of members than of tasks.
    """
    tasks = [objective.task for objective in front.objectives]
    if front.alphas.shape[1] != len(tasks):
        raise InputError(
            "The explorer of a page needs a member for each task. Found "
            f"{front.alphas.shape[1]} members, {len(tasks)} tasks."
        )
    values = {
        "tasks": tasks,
        "alpha": front.finite().choose().alpha.tolist(),
        "points": explorer_data.points(front),
        "beside": explorer_data.beside(front, beside or {}),
        "about": about,
        **(answers or {}),
    }
    return _shown("explorer", values)


def answers_of(
    experiment: Experiment, options: Options, splits: Splits, front: Front, network: Network | None
) -> dict[str, Any]:
    """Return the first eight test examples and what the `network` of a finished run says of them at
    each point of `front`; nothing if there are no weights."""
    if network is None:
        return {}
    inputs, *targets = to_device(splits.test[:8], network.device)
    tasks, known = experiment.tasks_of(options), experiment.resolved(options, splits)
    seen = calibration(experiment, known, splits)
    outputs = [network.predict(inputs, a, calibration=seen) for a in front.finite().alphas]
    return {
        "pictures": explorer_data.pictures(inputs),
        "names": [explorer_data.named(targets, i) for i in range(len(targets[0]))],
        "answers": [
            explorer_data.predictions(tasks, outputs_by_task(tasks, at), targets) for at in outputs
        ],
    }


def views_of(images: UInt8[Array, "P H W 3"], said: str) -> dict[str, Any]:
    """Return a picture for each point of a front; `said` is what the pictures show."""
    return {"views": [*map(explorer_data.as_png, images)], "viewed": said}


def triangle(front: Front, about: str) -> HTML:
    """Return `front`, of three members and tasks on a lattice, as triangles; `about` is a line that
    says where the numbers are from. Raise InputError for another number of members or tasks."""
    tasks = [objective.task for objective in front.objectives]
    if front.alphas.shape[1] != 3 or len(tasks) != 3:
        raise InputError(
            "A triangle needs three members and three tasks. Found "
            f"{front.alphas.shape[1]} members, {len(tasks)} tasks."
        )
    values = {"tasks": tasks, "points": explorer_data.points(front), "about": about}
    return _shown("triangle", values)


def _shown(name: str, values: dict[str, Any]) -> HTML:
    """Return the widget `name` with its style, as the output of a cell: a notebook has one of each
    name."""
    fragment = html.fragment(name, values, f"pw-{name}")
    return HTML(f"<style>{html.style()}</style>\n{fragment}")  # type: ignore[no-untyped-call]
