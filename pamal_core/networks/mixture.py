"""What networks of members have in common: they are saved as their members."""

from pathlib import Path
from typing import Any, TypeVar

from torch import nn

from pamal_core.errors import InputError, check_type
from pamal_core.networks.architecture import of_torch
from pamal_core.networks.base import Network
from pamal_core.states import load_state, save_state

FILE = "network.safetensors"
OF_SKELETON = "still", "tracking", "written"
"""What a network has from the modes of the modules that it was made of, and from training."""
Own = TypeVar("Own", bound="Mixture")


class Mixture(Network):
    """M members, of which theta(alpha) is a mixture: the gradient of member k is scaled by alpha_k.

    It is made of an architecture, the number of members and `settings`.
    """

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments by name, beside the architecture, that make a network like this."""
        weights = self.task_weights.double()
        rows = weights / weights.sum(1, keepdim=True)  # which few digits may have made less than 1
        made_of = {"num_members": len(rows), "task_weights": rows.tolist()}
        return made_of | self.skeleton.made_with

    def save(self, folder: str | Path, *, calibration: bool = True) -> None:
        """Write the network to `folder`/network.safetensors, in one step: members, task weights,
        names, and the training examples that it keeps to estimate statistics on.

        - `calibration`: whether these examples are written, tensors or tuples or dicts of them.
          Without them a loaded network has the shared statistics, with a warning.
        """
        state = {
            "settings": self.settings,
            "architecture": of_torch(self.skeleton.model),
            "task_names": self.task_names,
            "network": dict(self.state_dict()),
            "calibration": self.calibration if calibration else None,
            "skeleton": {name: getattr(self.skeleton, name) for name in OF_SKELETON},
        }
        save_state(Path(folder) / FILE, state)

    @classmethod
    def load(cls: type[Own], folder: str | Path, architecture: nn.Module) -> Own:
        """Return the network that `save` wrote to `folder`.

        - `architecture`: a module such as the members, Net(), that says how they run.

        Raises InputError where it was of another architecture.
        """
        check_type("architecture", architecture, nn.Module, "Net()")
        state = load_state(Path(folder) / FILE)
        network = cls(architecture, **state["settings"])  # type: ignore[arg-type]
        theirs, ours = state["architecture"], of_torch(network.skeleton.model)
        for name, weight in network.named_parameters():
            ours[f"dtype of {name}"] = weight.dtype
            theirs[f"dtype of {name}"] = state["network"].get(name, weight).dtype
        # A version of torch may keep other values.
        if differ := [name for name in theirs if name in ours and theirs[name] != ours[name]]:
            raise InputError(
                f"`architecture` must be what was saved. Found another {differ[0]}: "
                f"{ours[differ[0]]}, not {theirs[differ[0]]}."
            )
        network.load_state_dict(state["network"])
        network.task_names = tuple(state["task_names"])
        network.calibration = state["calibration"]
        vars(network.skeleton).update(state["skeleton"])
        network.skeleton.keep_still()
        return network
