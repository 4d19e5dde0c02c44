from .balancing import UnitNorm
from .errors import InputError
from .evaluation import evaluate
from .front import Front
from .method import Method, NonFiniteError
from .networks.ensemble import WeightEnsemble
from .networks.low_rank import LowRankEnsemble
from .optimizers import parameter_groups
from .penalties import MultiForward
from .recipe import Fitted, fit
from .simplex import Dirichlet, lattice
from .tasks import Metric, Task, classification, depth, regression, segmentation
from .training import train

__version__: str

__all__ = [
    "Dirichlet",
    "Fitted",
    "Front",
    "InputError",
    "LowRankEnsemble",
    "Method",
    "Metric",
    "MultiForward",
    "NonFiniteError",
    "Task",
    "UnitNorm",
    "WeightEnsemble",
    "classification",
    "depth",
    "evaluate",
    "fit",
    "lattice",
    "parameter_groups",
    "regression",
    "segmentation",
    "train",
]
