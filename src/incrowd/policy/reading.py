"""How a policy has a column read: as it states, or as all values of the table agree on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from incrowd.errors import PolicyError
from incrowd.policy.parts import Described
from incrowd.schema import Kind
from incrowd.values import Ambiguous, Reading, canonical_format, read_texts, reading_of
from incrowd.values.dates import TIME

# What a column must be for a builder that suits one kind only, where the policy does not say.
_TEXT_BUILDERS = ("prefix", "mask", "postcodes", "icd10", "rare")
KIND_OF_BUILDER = {"dates": Kind.DATE, **dict.fromkeys(_TEXT_BUILDERS, Kind.CATEGORICAL)}


@dataclass(frozen=True, slots=True)
class ReadAs:
    """What a column is, the notation of its texts, and what people should know about that."""

    kind: Kind
    format: str = ""
    note: str = ""


def read_as(said: Described, texts: Sequence[str], more: Sequence[str], name: str) -> ReadAs:
    """How the distinct `texts` of a column are read, and `more` of them in a public table."""
    if said.format:
        notation = canonical_format(said.format, said.format_kind, name)
        return _known(Reading(said.format_kind, notation, _dropped(notation)))
    kind = Kind(said.type) if said.type is not None else _kind_of_hierarchy(said)
    if kind is None:
        return _found_out(texts, more, name)
    return _declared(kind, [*texts, *more], name) if kind in (Kind.NUMERIC, Kind.DATE) else ReadAs(kind)


def _kind_of_hierarchy(said: Described) -> Kind | None:
    builder = next(iter(said.hierarchy), "") if isinstance(said.hierarchy, dict) else ""
    return KIND_OF_BUILDER.get(builder)


def _dropped(format: str) -> str:
    return "times ignored" if TIME in format else ""


def _known(reading: Reading) -> ReadAs:
    note = f"read as {reading.words()}" if reading.notation else ""
    return ReadAs(reading.kind, reading.notation, note)


def _declared(kind: Kind, texts: Sequence[str], name: str) -> ReadAs:
    """Numbers or dates by the policy's word; how they are written it leaves to the values.

    Where they are plain there is nothing to find out. What no notation fits is left to whoever reads them.
    """
    if None not in read_texts(texts, kind):
        return ReadAs(kind)
    found = reading_of(texts, name)
    if isinstance(found, Reading):
        return _known(found) if found.kind is kind else ReadAs(kind)
    ways = [f'format = "{way.notation}"' for way in found.readings if way.kind is kind and way.notation]
    if not ways:
        return ReadAs(kind)
    raise PolicyError(f"{name} is declared {kind}, but {found.why}; say which it is: {' or '.join(ways)}")


def _found_out(texts: Sequence[str], more: Sequence[str], name: str) -> ReadAs:
    """The one reading of both tables; a question if there is none."""
    found = reading_of([*texts, *more], name)
    if texts and more and found.kind is Kind.CATEGORICAL:
        kinds = [reading_of(some, name).kind for some in (texts, more)]
        if set(kinds) != {Kind.CATEGORICAL}:
            ways = "the same, but written differently" if kinds[0] is kinds[1] else f"{kinds[1]}"
            raise PolicyError(
                f"{name} has no type, and its values are {kinds[0]} in the table but {ways} in the public "
                f"table; give it one: {name} = {{type = …}}"
            )
    if isinstance(found, Ambiguous):
        taken = "numbers" if found.kind is Kind.NUMERIC else "text"
        return ReadAs(found.kind, note=f"taken as {taken}: {found.words()}")
    return _known(found)
