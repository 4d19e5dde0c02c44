"""Processes that have imported torch already: forks of one that did, once for all tests."""

import multiprocessing
import os
import socket
import sys
import traceback
from importlib.util import find_spec

CONTEXT = multiprocessing.get_context("forkserver")
PRELOADED = ["pamal_core.training", "torch._dynamo"]
if find_spec("pydantic"):  # the core's own environment has nothing of what the companion needs
    PRELOADED.insert(0, "pamal_companion.runs.run")
CONTEXT.set_forkserver_preload(PRELOADED)


def start(target, *arguments):
    process = CONTEXT.Process(target=target, args=arguments)
    process.start()
    return process


def finish(target, *arguments):
    process = start(target, *arguments)
    process.join()
    assert process.exitcode == 0


def run(code, folder, environments=({},)):
    """Run the Python `code` in a process for each of `environments`, in `folder`: their exit codes
    and what they wrote to stderr. The types that tests check are not checked there."""
    logs = [folder / f"stderr_{number}" for number in range(len(environments))]
    started = [
        start(_execute, code, folder, environment, log)
        for environment, log in zip(environments, logs, strict=True)
    ]
    for process in started:
        process.join(120)
        process.kill()
    return [process.exitcode for process in started], [log.read_text() for log in logs]


def ranks(number=2):
    """Return the environments of `number` processes that know of each other, as `torchrun` sets
    them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    shared = {"WORLD_SIZE": str(number), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    return [shared | {"RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(number)]


def _execute(code, folder, environment, log):
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), sys.stderr.fileno())
    os.chdir(folder)
    os.environ.update(environment)
    try:
        exec(code, {"__name__": "__main__"})
    except BaseException:
        traceback.print_exc()
        raise
