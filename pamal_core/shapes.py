"""Shapes that many signatures share, in the letters of the paper."""

from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

Theta = Float[Tensor, " N"]
"""The weights of one network, or what is added to them."""
ByMember = Float[Tensor, "*batch M"]
"""Points of the simplex: a number for each member."""
ByTask = Float[Tensor, "*batch T"]
"""A number for each task: losses, or what multiplies them."""
ByDraw = Float[Tensor, "*batch W T"]
"""The same for each of the W draws of a step."""
Jacobian = Float[Tensor, "*batch T S"]
"""The gradient of each task's loss by S of the weights."""
Direction = Float[Tensor, "*batch S"]
"""A combination of the rows of a Jacobian."""
Coefficients = Float[ndarray, " T"]
"""A number for each task gradient, where a rule is solved on the CPU."""
Gram = Float[ndarray, "T T"]
"""The inner products of the task gradients."""
