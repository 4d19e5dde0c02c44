from .balancing import Linear, MovingAverage, UnitNorm
from .dense_tasks import depth, segmentation
from .errors import InputError
from .evaluation import evaluate, predict
from .front import Front
from .method import Method, NonFiniteError
from .networks.ensemble import WeightEnsemble
from .optimizers import parameter_groups
from .penalties import MultiForward
from .simplex import Dirichlet, lattice
from .tasks import Metric, Task, classification, mean_metric, regression
from .training import train

__all__ = [
    "Dirichlet",
    "Front",
    "InputError",
    "Linear",
    "Method",
    "Metric",
    "MovingAverage",
    "MultiForward",
    "NonFiniteError",
    "Task",
    "UnitNorm",
    "WeightEnsemble",
    "classification",
    "depth",
    "evaluate",
    "lattice",
    "mean_metric",
    "parameter_groups",
    "predict",
    "regression",
    "segmentation",
    "train",
]
