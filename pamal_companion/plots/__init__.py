"""Pictures of fronts and frames, and their one style. They know no experiment and no torch."""

from pamal_companion import needs

needs("plots", "matplotlib", "mpltern")
