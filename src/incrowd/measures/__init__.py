"""Information loss and other measures of a published table against its original."""

from incrowd.measures.boxes import Among, Between, RangeCount, random_boxes
from incrowd.measures.cells import CellCoverage, parse_cells
from incrowd.measures.counting import average_relative_error, estimates, exact_estimate, weights_of
from incrowd.measures.loss import measure_all, per_attribute
from incrowd.measures.presence import Presence, covered_by, measure_own, presence
from incrowd.measures.published import Published, better, better_rows, published, published_from_regions

__all__ = [
    "Among",
    "Between",
    "CellCoverage",
    "Presence",
    "Published",
    "RangeCount",
    "average_relative_error",
    "better",
    "better_rows",
    "covered_by",
    "estimates",
    "exact_estimate",
    "measure_all",
    "measure_own",
    "parse_cells",
    "per_attribute",
    "presence",
    "published",
    "published_from_regions",
    "random_boxes",
    "weights_of",
]
