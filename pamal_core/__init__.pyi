from .balancing import UnitNorm
from .classes import classification, segmentation
from .errors import InputError
from .evaluation import evaluate
from .front import Front
from .labels import binary, multilabel
from .method import Method, NonFiniteError
from .metrics import Metric
from .networks.ensemble import WeightEnsemble
from .networks.low_rank import LowRankEnsemble
from .numbers import depth, regression
from .optimizers import parameter_groups
from .penalties import MultiForward
from .recipe import Fitted, fit
from .simplex import Dirichlet, lattice
from .tasks import Task
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
    "binary",
    "classification",
    "depth",
    "evaluate",
    "fit",
    "lattice",
    "multilabel",
    "parameter_groups",
    "regression",
    "segmentation",
    "train",
]
