"""Shapes that many signatures share, with the letters of the paper."""

from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

Theta = Float[Tensor, " N"]
"""The weights of one network as a vector, or a direction in which they move."""
ByMember = Float[Tensor, "*batch M"]
"""Points of the simplex: a number for each member."""
ByTask = Float[Tensor, "*batch T"]
"""A number for each task, such as its loss or its weight."""
ByDraw = Float[Tensor, "*batch W T"]
"""A number for each draw of a step and each task."""
Jacobian = Float[Tensor, "*batch T S"]
"""The gradient of each task's loss by S of the weights."""
Direction = Float[Tensor, "*batch S"]
"""A combination of the rows of a Jacobian."""
Coefficients = Float[ndarray, " T"]
"""A number for each task gradient, in rules that are solved on the CPU."""
Gram = Float[ndarray, "T T"]
"""The inner products of the task gradients."""
