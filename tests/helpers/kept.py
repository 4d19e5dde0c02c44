"""A training that is kept in a file."""

from pamal_companion.runs.checkpoint import Checkpoint
from pamal_core.training import train


def train_resumably(method, loader, path, *, key="", on_epoch=lambda _: None, **options):
    """`train`, going on from the file `path`, where its state is kept after each epoch."""

    def keep(training):
        on_epoch(training)
        checkpoint.keep(training)

    with Checkpoint(path, key) as checkpoint:
        return train(method, loader, resume=checkpoint.state, on_epoch=keep, **options)
