"""The methods of the catalogue by kind, and what must be accepted to publish by each."""

from __future__ import annotations

from incrowd.contracts import Crowder, catalogue
from incrowd.methods import METHODS

PARTS = {name: catalogue("grouper")[method.hides] for name, method in METHODS.items()}
CROWDS = sorted(name for name, part in PARTS.items() if isinstance(part(k=2), Crowder))
PARTITIONS = sorted(set(METHODS) - set(CROWDS))
ONE_SIDED = [name for name in CROWDS if PARTS[name].one_sided]
SAFE = [name for name in CROWDS if name not in ONE_SIDED]
ACCEPTED = {name: ["unsafe-one-sided"] if name in ONE_SIDED else [] for name in METHODS}
