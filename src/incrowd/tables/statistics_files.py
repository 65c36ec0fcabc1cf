"""Files of Stata, SPSS and SAS, by pyreadstat. Only run inside the child of `isolated_reader`.

Codes are taken, not the labels that a file may have for them: a label can stand for several codes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from incrowd.errors import TableError
from incrowd.tables.typed_rows import TypedRows

KINDS = {
    "dta": "read_dta",
    "sav": "read_sav",
    "zsav": "read_sav",
    "sas7bdat": "read_sas7bdat",
    "xpt": "read_xport",
}


def reader(kind: str) -> Callable[[int, str], TypedRows]:
    """What reads files of a kind."""

    def read(descriptor: int, _: str) -> TypedRows:
        try:
            import pyreadstat
        except ImportError:
            raise TableError(
                "is of a statistics package; to read it, run: pip install 'incrowd[statistics]'"
            ) from None
        found: tuple[dict[str, Any], Any] = getattr(pyreadstat, KINDS[kind])(
            f"/dev/fd/{descriptor}", output_format="dict"
        )
        columns, about = found
        labelled = len(getattr(about, "variable_value_labels", None) or {})
        notes = [f"{labelled} columns have labels for their codes; the codes are taken"] if labelled else []
        return TypedRows(list(columns), zip(*columns.values(), strict=True), notes)

    return read
