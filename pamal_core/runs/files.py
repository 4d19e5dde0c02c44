"""The files of a run, and who may write them."""

import contextlib
import glob
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout

from pamal_core import distributed
from pamal_core.errors import InputError
from pamal_core.networks.base import Network
from pamal_core.runs.checkpoint import Checkpoint, load_state, save_state
from pamal_core.runs.paths import CHECKPOINT, WEIGHTS, lock_of
from pamal_core.runs.records import Record, run_key


class BusyError(InputError):
    """Another process is making this run."""


class RunFiles(NamedTuple):
    """A run's record, its weights and, while it trains, its checkpoint and its lock.

    `about` are the fields of the record that say what the run is, as `run_key` takes them.
    The operating system gives the lock up when its process ends, however it ends, so a lock file
    that stays behind locks nothing.
    """

    record: Path
    about: Mapping[str, Any]

    @property
    def key(self) -> str:
        """What tells the run from others."""
        return run_key(self.about)

    @property
    def weights(self) -> Path:
        """Where the trained network is kept."""
        return self.record.with_suffix(WEIGHTS)

    @property
    def checkpoint(self) -> Checkpoint:
        """Where the state of an unfinished run is kept."""
        return Checkpoint(self.record.with_suffix(CHECKPOINT), self.key, self.about)

    def finished(self) -> Record | None:
        """The record, once there is one; InputError where it is that of another run."""
        return Record.find(self.record, self.key)

    @contextlib.contextmanager
    def claimed(self, wait: bool) -> Iterator[None]:
        """Nobody else makes the run meanwhile; BusyError at once, unless `wait`, if somebody does.

        Of several processes that share a run the first one holds it for all.
        """
        if not distributed.is_first():
            yield
            return
        path = lock_of(self.record)
        lock = FileLock(path, blocking=wait)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire()
        except Timeout:
            raise BusyError(f"{self.record} is being made by another process.") from None
        except OSError as error:
            raise InputError(f"Could not write {path}: {error.strerror or error}.") from error
        try:
            self._sweep_up()
            yield
        finally:
            path.unlink(missing_ok=True)  # those who wait notice, and make a new one
            lock.release()

    def _sweep_up(self) -> None:
        """Remove what a process left behind that was killed while it wrote."""
        for path in (self.record, self.weights, self.checkpoint.path):
            for half_written in path.parent.glob(f".{glob.escape(path.name)}.*.*"):
                half_written.unlink(missing_ok=True)

    def finish(self, record: Record, network: Network) -> None:
        """Weights first: a run counts as finished once its record is there."""
        save_state(self.weights, {"key": self.key, "network": dict(network.state_dict())})
        record.write(self.record)
        self.checkpoint.path.unlink(missing_ok=True)

    def load(self, network: Network) -> Network:
        """`network` with the weights of this run."""
        state = load_state(self.weights)
        if state["key"] != self.key:
            raise InputError(f"{self.weights} has the weights of another run. Delete it.")
        network.load_state_dict(state["network"])
        return network
