"""Information loss and other measures of a published table against its original."""

from incrowd.measures.boxes import Among, Between, RangeCount, random_boxes
from incrowd.measures.cells import CellCoverage, parse_cells
from incrowd.measures.counting import (
    average_relative_error,
    estimates,
    exact_estimate,
    joined_weights,
    weights_of,
)
from incrowd.measures.loss import measure_all, per_attribute
from incrowd.measures.presence import Presence, covered_by, measure_own, presence
from incrowd.measures.published import Published, better, better_rows, published, published_from_regions
from incrowd.measures.raking import OneWayTotal, Raked, rake
from incrowd.measures.shrinkage import Combinations, shrinkage
from incrowd.measures.spread import OriginalAndRelease
from incrowd.measures.two_way import TwoWayError, measure_two_way, quasi_identifier_error, two_way_error

__all__ = [
    "Among",
    "Between",
    "CellCoverage",
    "Combinations",
    "OneWayTotal",
    "OriginalAndRelease",
    "Presence",
    "Published",
    "Raked",
    "RangeCount",
    "TwoWayError",
    "average_relative_error",
    "better",
    "better_rows",
    "covered_by",
    "estimates",
    "exact_estimate",
    "joined_weights",
    "measure_all",
    "measure_own",
    "measure_two_way",
    "parse_cells",
    "per_attribute",
    "presence",
    "published",
    "published_from_regions",
    "quasi_identifier_error",
    "rake",
    "random_boxes",
    "shrinkage",
    "two_way_error",
    "weights_of",
]
