from .balancing import UnitNorm
from .classes import classification, segmentation
from .ensemble import WeightEnsemble, member_parameters
from .errors import InputError, NonFiniteError
from .evaluation import evaluate
from .fitted import Fitted
from .front import Front
from .labels import binary
from .method import Method
from .metrics import Metric
from .numbers import depth, regression
from .penalties import MultiForward
from .recipe import fit
from .simplex import Dirichlet, lattice
from .tasks import Task
from .training import train

__version__: str

__all__ = [
    "Dirichlet",
    "Fitted",
    "Front",
    "InputError",
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
    "member_parameters",
    "regression",
    "segmentation",
    "train",
]
