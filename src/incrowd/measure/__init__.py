"""What a release lost: measures of a published table against its original."""

from incrowd.measure.cells import Cells, parse_cells
from incrowd.measure.loss import measure_all, per_attribute
from incrowd.measure.order import better, better_rows
from incrowd.measure.published import Published, published

__all__ = [
    "Cells",
    "Published",
    "better",
    "better_rows",
    "measure_all",
    "parse_cells",
    "per_attribute",
    "published",
]
