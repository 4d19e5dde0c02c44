"""Balancers: from T task losses (or gradients) to one direction.

A *loss* balancer turns the task weights of a draw into other task weights; its direction costs one
backward pass. A *gradient* balancer sees the Jacobian of the losses and costs T. All of them
broadcast over leading dimensions, but for the Gram balancers, which solve a small problem for each
Jacobian.
"""

from pamal_core.balancing.aggregated import Aggregated
from pamal_core.balancing.auto_lambda import AutoLambda
from pamal_core.balancing.base import Balancer, Draw
from pamal_core.balancing.cagrad import CAGrad
from pamal_core.balancing.dwa import DynamicWeightAverage
from pamal_core.balancing.epo import EPO
from pamal_core.balancing.graddrop import GradDrop
from pamal_core.balancing.gradients import GradientBalancer, UnitNorm
from pamal_core.balancing.gram import GramBalancer
from pamal_core.balancing.imtl import IMTL
from pamal_core.balancing.losses import Linear, LossBalancer, MovingAverage
from pamal_core.balancing.mgda import MGDA
from pamal_core.balancing.nash_mtl import NashMTL
from pamal_core.balancing.pcgrad import PCGrad
from pamal_core.balancing.rlw import RandomWeighting
from pamal_core.balancing.rotograd import RotoGrad
from pamal_core.balancing.tchebycheff import SmoothTchebycheff
from pamal_core.balancing.uncertainty import UncertaintyWeighting

__all__ = [
    "EPO",
    "IMTL",
    "MGDA",
    "Aggregated",
    "AutoLambda",
    "Balancer",
    "CAGrad",
    "Draw",
    "DynamicWeightAverage",
    "GradDrop",
    "GradientBalancer",
    "GramBalancer",
    "Linear",
    "LossBalancer",
    "MovingAverage",
    "NashMTL",
    "PCGrad",
    "RandomWeighting",
    "RotoGrad",
    "SmoothTchebycheff",
    "UncertaintyWeighting",
    "UnitNorm",
]
