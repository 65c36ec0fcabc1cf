"""How much detail quasi-identifiers have, and how much of it equivalence classes of k can keep."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

from incrowd.flow import Microdata
from incrowd.measures.bins import bits, counted_bins

TOO_MUCH = 2.0


@dataclass(frozen=True, slots=True)
class Demand:
    """Bits that the quasi-identifiers have together, in bins; bits that tell classes of k records apart."""

    columns: int
    asked: float
    room: float

    @property
    def ratio(self) -> float | None:
        """How many times more is asked for than there is room; None where there is one class at most."""
        return self.asked / self.room if self.room > 0 else None

    @property
    def too_much(self) -> bool:
        """Will cells be so wide that little is left? Columns that depend on each other ask for less."""
        return self.asked > TOO_MUCH * self.room

    def to_dict(self) -> dict[str, float | int | bool | None]:
        return {"bits": self.asked, "room": self.room, "ratio": self.ratio, "too_much": self.too_much}

    def sentence(self) -> str:
        """For the publisher, before the work begins."""
        return (
            f"the {self.columns} quasi-identifiers hold {self.asked:.1f} bits of detail, and classes of k "
            f"records can keep {self.room:.1f}: expect wide cells; inspect, asked for costs, says which "
            "columns cost most"
        )


def demand(data: Microdata, k: int) -> Demand:
    """Compare the entropy of all quasi-identifiers, in at most ten bins each, with log2(n / k)."""
    columns = zip(data.attributes, data.frequencies, strict=True)
    asked = sum(bits(counted_bins(attribute, counts).summed(counts)) for attribute, counts in columns)
    return Demand(len(data.attributes), asked, room_for(len(data), k))


def room_for(records: int, k: int) -> float:
    """The bits that tell classes of k records apart."""
    return max(log2(max(records, 1) / k), 0.0)
