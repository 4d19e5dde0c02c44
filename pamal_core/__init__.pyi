from .balancing import Linear, MovingAverage, SmoothTchebycheff, UnitNorm
from .errors import InputError
from .evaluation import evaluate, predict
from .front import Front
from .method import Method, NonFiniteError
from .networks.ensemble import WeightEnsemble
from .networks.low_rank import LowRankEnsemble
from .optimizers import parameter_groups
from .penalties import MultiForward
from .simplex import Annealed, Dirichlet, lattice
from .tasks import Metric, Task, classification, depth, regression, segmentation
from .training import train

__version__: str

__all__ = [
    "Annealed",
    "Dirichlet",
    "Front",
    "InputError",
    "Linear",
    "LowRankEnsemble",
    "Method",
    "Metric",
    "MovingAverage",
    "MultiForward",
    "NonFiniteError",
    "SmoothTchebycheff",
    "Task",
    "UnitNorm",
    "WeightEnsemble",
    "classification",
    "depth",
    "evaluate",
    "lattice",
    "parameter_groups",
    "predict",
    "regression",
    "segmentation",
    "train",
]
