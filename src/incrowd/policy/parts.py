"""The parts of a policy: what may stand in each of its tables, checked as it is read.

Numbers that are not whole stay the text that was written: 0.1 is one tenth, not the nearest binary number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from incrowd.schema import Kind
from incrowd.values import format_problem, kind_of_format, same_name


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise ValueError('must be a list of texts, such as ["a", "b"]')
    if len(set(value)) < len(value):
        raise ValueError("names something twice")
    return tuple(value)


def _columns(value: object) -> tuple[str, ...]:
    return _names([same_name(name) for name in _names(value)])


def _described(value: object) -> object:
    """A plain list of columns is a table whose columns say nothing more."""
    if isinstance(value, list | tuple):
        return {name: {} for name in _columns(value)}
    if not isinstance(value, Mapping):
        raise ValueError("must be a list of column names, or a table with one entry for each column")
    return dict(zip(_columns(list(value)), value.values(), strict=True))


def _by_column(value: object) -> object:
    if not isinstance(value, Mapping):
        raise ValueError("must be a table with one number for each column")
    return dict(zip(_columns(list(value)), value.values(), strict=True))


def _exact(value: object) -> int | str:
    """A whole number, or the one text of a decimal: without needless zeros, and never rounded."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float | Decimal):
        value = format(Decimal(str(value)), "f")
        value = value if "." in value else f"{value}.0"
    if not isinstance(value, str) or not re.fullmatch(r"-?[0-9]+\.[0-9]+", value):
        raise ValueError("must be a number")
    whole, part = value.split(".")
    sign = "-" if whole.startswith("-") else ""
    return f"{sign}{whole.removeprefix('-').lstrip('0') or '0'}.{part.rstrip('0') or '0'}"


def _between(low: str, high: str, low_included: bool = False) -> Any:
    def check(value: object) -> int | str:
        number = _exact(value)
        enough = Fraction(number) >= Fraction(low) if low_included else Fraction(number) > Fraction(low)
        if not (enough and Fraction(number) <= Fraction(high)):
            raise ValueError(f"must be {'at least' if low_included else 'above'} {low} and at most {high}")
        return number

    return BeforeValidator(check, json_schema_input_type=int | float | str)


def _plain(value: object) -> object:
    """The same value without anything that JSON cannot say; decimals become text."""
    if isinstance(value, float | Decimal):
        return _exact(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    raise ValueError("must be made of texts, numbers, true and false, lists and tables")


def _hierarchy(value: object) -> object:
    if value is None or isinstance(value, str | Mapping):
        return _plain(value)
    raise ValueError("must be the path of a file, or a table such as {prefix = [5, 4, 3]}")


def _options(value: object) -> object:
    if not isinstance(value, Mapping):
        raise ValueError("must be a table of options")
    return _plain(value)


def _day(value: object) -> object:
    """A day as text; TOML can also write it without quotes."""
    if value is None:
        return None
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    try:
        if isinstance(value, str) and date.fromisoformat(value).isoformat() == value:
            return value
    except ValueError:
        pass
    raise ValueError("must be a day, such as 2024-02-29")


def _family(value: object) -> object:
    if value is None:
        return None
    if not isinstance(value, list | tuple):
        raise ValueError("must be a list of lists of values")
    return tuple(_names(subset) for subset in value)


LONGEST_DESCRIPTION = 500


def _sentences(value: object) -> object:
    """Words for readers, by column: one printable line each."""
    if not isinstance(value, Mapping):
        raise ValueError("must be a table with one text for each column")
    for text in value.values():
        if not isinstance(text, str) or not text.isprintable() or not 0 < len(text) <= LONGEST_DESCRIPTION:
            raise ValueError(f"must be one line of text for each column, at most {LONGEST_DESCRIPTION} signs")
    return dict(zip(_columns(list(value)), value.values(), strict=True))


Texts = Annotated[tuple[str, ...], BeforeValidator(_names, json_schema_input_type=list[str])]
Columns = Annotated[tuple[str, ...], BeforeValidator(_columns, json_schema_input_type=list[str])]
Plain = Annotated[dict[str, Any], BeforeValidator(_options, json_schema_input_type=dict[str, Any])]
Builder = Annotated[str | dict[str, Any] | None, BeforeValidator(_hierarchy)]
Day = Annotated[str | None, BeforeValidator(_day, json_schema_input_type=str | None)]
Subsets = Annotated[
    tuple[tuple[str, ...], ...] | None,
    BeforeValidator(_family, json_schema_input_type=list[list[str]] | None),
]


Descriptions = Annotated[dict[str, str], BeforeValidator(_sentences)]
Weights = Annotated[dict[str, Annotated[int | str, _between("0", "1000000")]], BeforeValidator(_by_column)]


if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)


class _Readable(ModelMetaclass):
    """Lets `help` and `dir` show what a part itself offers, without the two hundred names of its library."""

    def __dir__(cls) -> list[str]:
        hidden = {*dir(BaseModel), "model_post_init"}
        return [name for name in super().__dir__() if name not in hidden and not name.startswith("__")]


class Part(BaseModel, metaclass=_Readable):
    """Unknown keys are refused, types are taken strictly, and nothing changes after birth."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Described(Part):
    """How the texts of a column are to be read."""

    type: Literal["numeric", "categorical", "date", "ordered"] | None = Field(
        default=None, description="What the texts mean; by default detected from the table."
    )
    hierarchy: Builder = Field(
        default=None, description="A file (leaf;level 1;…;*), relative to the policy, or a builder."
    )
    values: Texts = Field(default=(), description="The values of an ordered column, from low to high.")
    format: str = Field(
        default="",
        description="How numbers or dates are written: dd/mm/yyyy, 1.234,56 EUR; found out by default.",
    )

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if bool(self.values) != (self.type == "ordered"):
            raise ValueError('must have both type = "ordered" and values, from low to high, or neither')
        if self.format and self.type not in (None, "date", "numeric"):
            raise ValueError('has a format, which is for type = "date" or "numeric"')
        if wrong := format_problem(self.format, self.format_kind):
            raise ValueError(wrong)
        return self

    @property
    def format_kind(self) -> Kind:
        """What the format is of, where the type does not say: nothing is a format of both."""
        return Kind(self.type) if self.type is not None else kind_of_format(self.format)


class Quasi(Described):
    """A column that outsiders may know, and how it is published."""

    family: Subsets = Field(default=None, description="The sets of values that may be published.")
    complete: bool = Field(default=False, description="Add the intersections that the family lacks.")
    mean: bool = Field(
        default=False, description="Publish the mean of each equivalence class beside its range."
    )
    public: bool = Field(
        default=False,
        description="The hierarchy is public knowledge: all of it becomes part of the release.",
    )
    publish: Literal["range", "node", "set"] | None = Field(
        default=None,
        description="The form of a generalized cell; by default it follows from type and hierarchy.",
    )

    @model_validator(mode="after")
    def _publishable(self) -> Self:
        if self.family is not None and (self.hierarchy is not None or self.publish not in (None, "set")):
            raise ValueError("has a family, which is published as sets and without a hierarchy")
        if self.public and self.hierarchy is None:
            raise ValueError("says public, which is for a hierarchy")
        if self.complete and self.family is None:
            raise ValueError("says complete, which is for a family")
        if self.publish == "node" and self.hierarchy is None:
            raise ValueError('says publish = "node", which needs a hierarchy')
        if self.publish in ("range", "set") and self.hierarchy is not None:
            raise ValueError("has a hierarchy, which is published as nodes: leave out one of the two")
        if self.mean and (self.hierarchy is not None or self.family is not None or self.publish == "set"):
            raise ValueError("says mean, which is for numbers that are published as a range")
        return self


class PlainGroups(Part):
    """Classes that reveal no outlier. A record is one if at least `p` of all are over `d` away."""

    p: Annotated[int | str, _between("0", "1")] = Field(description="The share that must be far away.")
    d: Annotated[int | str, _between("0", "1000000")] = Field(
        description="From which distance on a record is far away."
    )
    columns: Columns = Field(
        default=(),
        description="The columns of the distance; by default all quasi-identifiers and sensitive ones.",
    )
    weights: Weights = Field(
        default_factory=dict, description="Weights of columns in the squared distance; 1 by default."
    )
    form: Literal["corner", "candidate", "both"] | None = Field(
        default=None, description="Corners of a class, as in the paper, the people inside it, or both."
    )
    margin: Annotated[int | str, _between("0", "1000000", low_included=True)] | None = Field(
        default=None, description="By how much p and d are lowered for the check; 0.05 by default."
    )
    distinct: Annotated[int, Field(ge=2)] | None = Field(
        default=None, description="The least number of different sensitive values of a class; k by default."
    )
    removal: Literal["once", "repeat", "none"] | None = Field(
        default=None, description="How outliers by sensitive values alone are removed; once by default."
    )
    rescale: bool = Field(
        default=True, description="Scale the distance by the remaining records, not by the whole table."
    )


class Privacy(Part):
    """What is promised. Everything that is given holds together."""

    k: Annotated[int, Field(ge=2)] | None = Field(
        default=None, description="The least size of an equivalence class."
    )
    l: Annotated[int | str, _between("1", "1000000")] | None = Field(  # noqa: E741 - its name in the papers
        default=None, description="How diverse the sensitive values of a class must be."
    )
    l_kind: Literal["distinct", "entropy", "recursive", "frequency"] | None = Field(
        default=None, description="In which sense they are diverse; distinct by default."
    )
    c: Annotated[int | str, _between("0", "1000000")] | None = Field(
        default=None, description="The constant of recursive (c,l)-diversity."
    )
    t: Annotated[int | str, _between("0", "1")] | None = Field(
        default=None,
        description="How far the sensitive values of a class may be from those of the whole table.",
    )
    t_distance: Literal["equal", "ordered", "hierarchical"] | None = Field(
        default=None, description="How that distance is measured; equal by default."
    )
    plain: PlainGroups | None = Field(default=None, description="Classes must reveal no outlier.")
    max_suppression: Annotated[int | str, _between("0", "1", low_included=True)] | None = Field(
        default=None,
        description="The share of all records that may be suppressed; 0 by default, with plain 0.05.",
    )

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if (self.c is not None) != (self.l_kind == "recursive"):
            raise ValueError('must have both l_kind = "recursive" and c, or neither')
        if self.l is None and self.l_kind is not None:
            raise ValueError("says l_kind, which needs l")
        if self.t is None and self.t_distance is not None:
            raise ValueError("says t_distance, which needs t")
        return self


class Public(Part):
    """The public table of k-join-anonymity."""

    table: str = Field(description="The file, relative to the policy.")
    id: str = Field(description="The column that identifies a person in both tables.")
    membership_secret: bool | None = Field(
        default=None, description="Is it a secret who is in the private table? Without true, no method joins."
    )
    source: str | None = Field(default=None, description="Who published the public table.")
    date: Day = Field(default=None, description="When it was published, as YYYY-MM-DD.")
    check: str | None = Field(
        default=None, description="A second source, relative to the policy, that confirms the first."
    )
    conflicts: Literal["refuse", "public", "microdata"] = Field(
        default="refuse",
        description="What to do about people whom both tables know, but describe differently.",
    )

    @model_validator(mode="after")
    def _two_sources(self) -> Self:
        if self.check is not None and self.check == self.table:
            raise ValueError("names one file as table and as check: a source does not confirm itself")
        return self


class Population(Part):
    """The population that the table is a sample of, for estimates of its risk; never published."""

    fraction: Annotated[int | str, _between("0", "1")] | None = Field(
        default=None, description="The share of the population that is in the table."
    )
    size: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="How many people the population has."
    )
    weight: str | None = Field(
        default=None,
        description="The column that says how many of the population a person stands for; at least 1.",
    )

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if sum(said is not None for said in (self.fraction, self.size, self.weight)) != 1:
            raise ValueError("must have one of fraction, size and weight")
        return self


class Series(Part):
    """A series of releases about the same people, and how it waits."""

    wait: Annotated[int, Field(ge=0)] = Field(
        default=0, description="After so many releases somebody who waits gets a row, whatever it loses."
    )
    tau: Annotated[int | str, _between("0", "1000000", low_included=True)] = Field(
        default="1.5", description="Until then a new class may lose at most so many times the mean."
    )
    size: Annotated[int, Field(ge=2)] | None = Field(
        default=None, description="The least size of a new class; k by default, more leaves room for leavers."
    )
    left: Literal["repeat", "companions"] = Field(
        default="repeat", description="Rows of people who left are repeated, or go with companions."
    )
    hold: Annotated[int, Field(ge=0)] = Field(
        default=0, description="For so many releases a class that changes would widen much is repeated."
    )


QuasiTable = Annotated[
    dict[str, Quasi], BeforeValidator(_described, json_schema_input_type=list[str] | dict[str, Quasi])
]
SensitiveTable = Annotated[
    dict[str, Described], BeforeValidator(_described, json_schema_input_type=list[str] | dict[str, Described])
]
