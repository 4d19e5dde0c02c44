"""A container may run as a number that no line of /etc/passwd has."""

import os
import subprocess
import sys

import pytest

NAMES = ("LOGNAME", "USER", "LNAME", "USERNAME", "HOME", "TORCHINDUCTOR_CACHE_DIR")
TRAIN = """
import pwd

def nobody(number):
    raise KeyError(number)

pwd.getpwuid = nobody
{}
import torch
torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))])
import getpass  # torch._inductor asks for the name itself
assert getpass.getuser()
"""


@pytest.mark.parametrize("imported", ["import pamal_core", "from pamal_core import train"])
def test_a_user_without_a_name_gets_an_optimizer(imported):
    known = {name: value for name, value in os.environ.items() if name not in NAMES}
    command = [sys.executable, "-c", TRAIN.format(imported)]
    ended = subprocess.run(command, env=known, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
