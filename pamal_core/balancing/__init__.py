"""Balancers: from T task losses (or gradients) to one direction.

A *loss* balancer turns the task weights of a draw into other task weights; its direction costs one
backward pass. A *gradient* balancer sees the Jacobian of the losses and costs T. All of them
broadcast over leading dimensions.
"""

from pamal_core.balancing.base import Balancer
from pamal_core.balancing.gradients import GradientBalancer, UnitNorm
from pamal_core.balancing.losses import Linear, LossBalancer, MovingAverage

__all__ = ["Balancer", "GradientBalancer", "Linear", "LossBalancer", "MovingAverage", "UnitNorm"]
