"""Loaders: one for all tasks, or one for each task, read together."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pamal_core.errors import InputError, shown
from pamal_core.inputs import Batch, described

Loader = Iterable[Batch] | Mapping[str, Iterable[Batch]]
"""Yields batches each time that it is read, as a DataLoader or a list does; or one of these for
each task, {name: loader}, whose batches are (inputs, target)."""

END: Any = object()
"""Stands for the batch after the last. None is no batch, and is refused as such."""


@dataclass
class ReadTogether:
    """Yield a batch of every loader in each step, as {name: batch}.

    An epoch is one pass of the longest loader. The others begin again when they end.
    """

    loaders: Mapping[str, Any]

    def __len__(self) -> int:  # a TypeError if one does not know, as torch's iterable data do not
        return max(map(len, self.loaders.values()))

    def __iter__(self) -> Iterator[Batch]:
        iterators = {name: iter(loader) for name, loader in self.loaders.items()}
        read_to_their_end: set[str] = set()
        while True:
            batch = {name: next(iterator, END) for name, iterator in iterators.items()}
            ended = [name for name, part in batch.items() if part is END]
            read_to_their_end.update(ended)
            if len(read_to_their_end) == len(iterators):
                return
            for name in ended:
                iterators[name] = iter(self.loaders[name])
                batch[name] = next(iterators[name], END)
                if batch[name] is END:
                    raise InputError(f"The loader of task {name} must yield a batch. Found none.")
            yield batch


@dataclass
class ReadInTurn:
    """Yield the batches of one loader after the other, once each, as {name: batch}."""

    loaders: Mapping[str, Any]

    def __len__(self) -> int:
        return sum(map(len, self.loaders.values()))

    def __iter__(self) -> Iterator[Batch]:
        for name, loader in self.loaders.items():
            for batch in loader:
                yield {name: batch}


def to_train(loader: Loader, names: Sequence[str]) -> Iterable[Batch]:
    """Return `loader`, or the loaders of the tasks `names` read together."""
    if isinstance(loader, Mapping):
        _check_names(loader, names)
        return ReadTogether(loader)
    return loader


def to_judge(loader: Loader, names: Sequence[str]) -> Iterable[Batch]:
    """Return `loader`, or the loaders of the tasks `names` read in turn."""
    if isinstance(loader, Mapping):
        _check_names(loader, names)
        return ReadInTurn(loader)
    return loader


def check_loader(loader: Any, times: int, name: str = "loader") -> None:
    """Raise InputError if `loader`, of the argument `name`, cannot be read so many `times`."""
    for part in loader.values() if isinstance(loader, Mapping) else [loader]:
        if not isinstance(part, Iterable) or (isinstance(part, Iterator) and times > 1):
            raise InputError(
                f"`{name}` must yield its batches each time that it is read, as a DataLoader or a "
                f"list does. Found {described(part)}."
            )


def no_batch(name: str) -> InputError:
    """Return the error for a loader, of the argument `name`, that has yielded nothing."""
    return InputError(
        f"`{name}` must yield at least one batch each time that it is read: drop_last=True leaves "
        "out one that is not full, and a generator has its batches once. Found none."
    )


def _check_names(loaders: Mapping[str, Any], names: Sequence[str]) -> None:
    """Raise InputError unless each task has a loader."""
    if {*loaders} != {*names}:
        found = [name if isinstance(name, str) else shown(name) for name in loaders]
        raise InputError(
            f"Loaders by name must be one for each of {', '.join(names)}. Found "
            f"{', '.join(found) or 'none'}."
        )
