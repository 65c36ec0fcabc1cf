"""Table I of "k-Anonymization Revisited", as printed: mean loss of a cell for k = 5, 10, 15, 20."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from incrowd.reproduce.revisited.trials import BEST, FOREST, KK

KS = (5, 10, 15, 20)
_ROWS = (BEST, FOREST, KK)


def _three(*rows: Sequence[float]) -> Mapping[str, Sequence[float]]:
    return dict(zip(_ROWS, rows, strict=True))


TABLE: Mapping[tuple[str, str], Mapping[str, Sequence[float]]] = {
    ("ART", "EM"): _three((0.65, 0.98, 1.13, 1.22), (0.89, 1.25, 1.42, 1.51), (0.53, 0.83, 0.99, 1.08)),
    ("ADT", "EM"): _three((0.66, 0.93, 1.08, 1.18), (1.02, 1.45, 1.63, 1.73), (0.50, 0.75, 0.90, 1.00)),
    ("CMC", "EM"): _three((0.67, 0.95, 1.08, 1.20), (0.99, 1.31, 1.46, 1.53), (0.54, 0.80, 0.98, 1.10)),
    ("ART", "LM"): _three((0.12, 0.19, 0.23, 0.25), (0.15, 0.24, 0.28, 0.31), (0.10, 0.16, 0.19, 0.22)),
    ("ADT", "LM"): _three((0.14, 0.20, 0.24, 0.26), (0.22, 0.37, 0.46, 0.53), (0.09, 0.13, 0.16, 0.18)),
    ("CMC", "LM"): _three((0.14, 0.21, 0.25, 0.28), (0.19, 0.31, 0.40, 0.44), (0.11, 0.17, 0.20, 0.23)),
}


def printed(data: str, measure: str, row: str, k: int) -> float | None:
    """The printed number; None for a k that the paper does not have."""
    return TABLE[data, measure][row][KS.index(k)] if k in KS else None
