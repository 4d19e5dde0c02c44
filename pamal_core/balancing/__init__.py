"""Balancers turn T task losses, or their gradients, into one direction.

A *loss* balancer replaces the task weights of a draw; its direction costs one backward pass. A
*gradient* balancer combines the rows of the Jacobian and costs T backward passes. A step asks for
the direction of one draw at a time, so one of your own need not broadcast. Ours broadcast over
leading dimensions, except for Gram balancers, which take one Jacobian at a time.
"""

from pamal_core.balancing.base import Balancer as Balancer
from pamal_core.balancing.base import Draw as Draw
from pamal_core.balancing.cagrad import CAGrad as CAGrad
from pamal_core.balancing.dwa import DynamicWeightAverage as DynamicWeightAverage
from pamal_core.balancing.graddrop import GradDrop as GradDrop
from pamal_core.balancing.gradients import Aggregated as Aggregated
from pamal_core.balancing.gradients import GradientBalancer as GradientBalancer
from pamal_core.balancing.gradients import UnitNorm as UnitNorm
from pamal_core.balancing.gram import GramBalancer as GramBalancer
from pamal_core.balancing.imtl import IMTL as IMTL
from pamal_core.balancing.losses import Linear as Linear
from pamal_core.balancing.losses import LossBalancer as LossBalancer
from pamal_core.balancing.losses import MovingAverage as MovingAverage
from pamal_core.balancing.losses import RandomWeighting as RandomWeighting
from pamal_core.balancing.mgda import MGDA as MGDA
from pamal_core.balancing.nash_mtl import NashMTL as NashMTL
from pamal_core.balancing.pcgrad import PCGrad as PCGrad
from pamal_core.balancing.uncertainty import UncertaintyWeighting as UncertaintyWeighting
