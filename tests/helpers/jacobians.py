"""Random Jacobians, and the gradient rules applied to them with uniform weights."""

import torch


def well_conditioned(num_tasks):
    return [torch.randn(num_tasks, 20).double() for _ in range(50)]


def badly_conditioned(num_tasks):
    made = []
    for _ in range(50):
        common, own = torch.randn(20).double(), torch.randn(num_tasks, 20).double()
        signs = torch.randint(2, (num_tasks, 1)) * 2 - 1
        lengths = 10 ** (4 * torch.rand(num_tasks, 1).double() - 2)
        made.append(lengths * (signs * common + 10 ** (-3 * torch.rand(1).double()) * own))
    return made


def stationary(num_tasks):
    """Gradients in a plane with a point of their hull at 0: no direction descends on all."""
    angles = torch.rand(20, num_tasks - 1).double() * 6.3
    rows = torch.stack([angles.cos(), angles.sin()], -1)
    shares = torch.rand(20, num_tasks - 1, 1).double() + 0.1
    return list(torch.cat([rows, -(shares * rows).sum(1, keepdim=True)], 1))


def uniform(jacobian):
    return torch.full((len(jacobian),), 1 / len(jacobian), dtype=jacobian.dtype)


def combine(rule, jacobian):
    return rule.combine(jacobian, uniform(jacobian))


def solve(rule, jacobian):
    return torch.from_numpy(rule.solve((jacobian @ jacobian.T).numpy(), uniform(jacobian).numpy()))


def longest(jacobian):
    return jacobian.norm(dim=1).max()
