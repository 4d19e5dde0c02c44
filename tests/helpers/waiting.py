"""How often a step waits for its device, on a CPU: what runs is the same but for the device."""

import torch
from torch.profiler import ProfilerActivity, profile

from pamal_core.training import train

WAITS = "aten::_local_scalar_dense"


def fused_adam(trained):
    return torch.optim.Adam(trained, lr=0.01, fused=True)


def fused_sgd(trained):
    return torch.optim.SGD(trained, lr=0.01, momentum=0.9, fused=True)


def waits(method, batch, optimizer, **arguments):
    """How often the second and third step of a training ask the device for a number."""
    recorded = profile(activities=[ProfilerActivity.CPU], acc_events=True)

    def record(training):
        if training.step == 1:
            recorded.start()
        elif training.step == 3:
            recorded.stop()

    loader = [batch] * 4
    train(
        method, loader, epochs=1, optimizer=optimizer, on_step=record, progress=False, **arguments
    )
    return sum(event.name == WAITS and not _of_adam(event) for event in recorded.events())


def _of_adam(event):
    """Whether it is the kernel of a CPU, which reads the number of the step: that of CUDA does so
    on the device."""
    while event is not None and event.name != "aten::_fused_adam_":
        event = event.cpu_parent
    return event is not None
