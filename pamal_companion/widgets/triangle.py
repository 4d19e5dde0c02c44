"""The front of three tasks, to be moved in: a triangle for each task, in pages and notebooks."""

from IPython.display import HTML

from pamal_companion.widgets import html
from pamal_companion.widgets.explorer_data import points
from pamal_core.errors import InputError
from pamal_core.front import Front


def triangle(front: Front, about: str) -> HTML:
    """Return `front`, of three members and tasks on a lattice, as a widget that needs no kernel;
    `about` is a line that says where the numbers are from. InputError for another number of members
    or tasks."""
    tasks = [objective.task for objective in front.objectives]
    if front.alphas.shape[1] != 3 or len(tasks) != 3:
        raise InputError(
            "A triangle needs three members and three tasks. Found "
            f"{front.alphas.shape[1]} members, {len(tasks)} tasks."
        )
    values = {"tasks": tasks, "points": points(front), "about": about}
    fragment = html.fragment("triangle", values, "pw-triangle")
    return HTML(f"<style>{html.style()}</style>\n{fragment}")  # type: ignore[no-untyped-call]
