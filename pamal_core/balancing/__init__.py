"""Balancers: from T task losses (or gradients) to one direction.

A *loss* balancer turns the task weights of a draw into other task weights; its direction costs one
backward pass. A *gradient* balancer sees the Jacobian of the losses and costs T. All of them
broadcast over leading dimensions, but for the Gram balancers, which solve a small problem for each
Jacobian.
"""

from pamal_core.balancing.aggregated import Aggregated as Aggregated
from pamal_core.balancing.base import Balancer as Balancer
from pamal_core.balancing.base import Draw as Draw
from pamal_core.balancing.cagrad import CAGrad as CAGrad
from pamal_core.balancing.dwa import DynamicWeightAverage as DynamicWeightAverage
from pamal_core.balancing.graddrop import GradDrop as GradDrop
from pamal_core.balancing.gradients import GradientBalancer as GradientBalancer
from pamal_core.balancing.gradients import UnitNorm as UnitNorm
from pamal_core.balancing.gram import GramBalancer as GramBalancer
from pamal_core.balancing.imtl import IMTL as IMTL
from pamal_core.balancing.losses import Linear as Linear
from pamal_core.balancing.losses import LossBalancer as LossBalancer
from pamal_core.balancing.losses import MovingAverage as MovingAverage
from pamal_core.balancing.mgda import MGDA as MGDA
from pamal_core.balancing.nash_mtl import NashMTL as NashMTL
from pamal_core.balancing.pcgrad import PCGrad as PCGrad
from pamal_core.balancing.rlw import RandomWeighting as RandomWeighting
from pamal_core.balancing.uncertainty import UncertaintyWeighting as UncertaintyWeighting
