"""The catalogue: every method as a recipe of who hides with whom, what is published, who is behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from incrowd import assign
from incrowd.contracts import Grouper, catalogue
from incrowd.errors import PolicyError, unknown
from incrowd.flow import Assignment
from incrowd.hide import agglomerative, forest, mondrian, single  # noqa: F401 - registers the groupers
from incrowd.hide.workload import Query

REVISITED = "Gionis, Mazza, Tassa: k-Anonymization Revisited"
MULTIDIMENSIONAL = "Murthy, Srinivas: Achieving Multidimensional K-Anonymity by a Greedy Approach"


@dataclass(frozen=True)
class Method:
    """A recipe, and what the catalogue says about it.

    `hides` names a registered grouper, `publishes` what its rows say, `behind` draws who is behind them.
    `printed` says for given options whether this is the paper's own form.
    """

    name: str
    hides: str
    publishes: str
    behind: Callable[[int, assign.Entropy], Assignment]
    paper: str
    section: str
    guarantee: str
    adversary: str
    needs: str
    not_claimed: str
    printed: Callable[[Mapping[str, Any]], bool] = lambda _options: False

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options, k not among them: it belongs to the promise."""
        return tuple(field.name for field in fields(catalogue("grouper")[self.hides]) if field.name != "k")

    def grouper(self, k: int, options: Mapping[str, Any]) -> Grouper:
        """The first part of the recipe with its options set."""
        strange = [name for name in options if name not in self.options]
        if strange:
            raise PolicyError(unknown(f"an option of {self.name}", strange, self.options))
        given = dict(options)
        if "workload" in given:
            given["workload"] = _workload(given["workload"])
        made: Grouper = catalogue("grouper")[self.hides](k=k, **given)
        return made

    def as_dict(self) -> dict[str, Any]:
        part = catalogue("grouper")[self.hides]
        defaults = {field.name: field.default for field in fields(part) if field.name in self.options}
        return {
            "name": self.name,
            "hides": self.hides,
            "publishes": self.publishes,
            "paper": self.paper,
            "section": self.section,
            "guarantee": self.guarantee,
            "adversary": self.adversary,
            "needs": self.needs,
            "not_claimed": self.not_claimed,
            "options": {
                name: {
                    "default": list(default) if isinstance(default, tuple) else default,
                    "must_be": part.limits[name].words() if name in part.limits else "a list of queries",
                }
                for name, default in defaults.items()
            },
        }


def _workload(option: object) -> tuple[Query, ...]:
    if not isinstance(option, list | tuple):
        raise PolicyError("workload must be a list of queries: [{where = {age = {from = 20, to = 40}}}]")
    return tuple(query if isinstance(query, Query) else Query.from_option(query) for query in option)


_CROWD = "everyone's quasi-identifiers equal those of at least k-1 others"
_LINKER = "knows everyone's quasi-identifiers, and how the release was made"
_NOT_CLAIMED = (
    "that sensitive values stay unknown (ask for l or t), that nobody's presence is learnt, anything about "
    "two releases of the same people"
)

_ALL = (
    Method(
        name="mondrian",
        hides="mondrian",
        publishes="the smallest box, node or set over each group",
        behind=assign.whole_classes,
        paper=MULTIDIMENSIONAL,
        section="2.3, Figure 2",
        guarantee=_CROWD,
        adversary=_LINKER,
        needs="nothing; hierarchies are optional",
        not_claimed=_NOT_CLAIMED,
        printed=lambda options: options.get("median") == "printed",
    ),
    Method(
        name="mondrian-relaxed",
        hides="mondrian-relaxed",
        publishes="the smallest box, node or set over each group; boxes may overlap",
        behind=assign.whole_classes,
        paper=MULTIDIMENSIONAL,
        section="2.3, relaxed partitioning",
        guarantee=_CROWD + "; groups have at most 2k-1 records",
        adversary=_LINKER,
        needs="nothing; hierarchies are optional",
        not_claimed=_NOT_CLAIMED,
    ),
    Method(
        name="single",
        hides="single",
        publishes="each column recoded on its own, the same for all records",
        behind=assign.whole_classes,
        paper=MULTIDIMENSIONAL,
        section="2.2, single-dimensional partitioning",
        guarantee=_CROWD,
        adversary=_LINKER,
        needs="nothing; loses far more than mondrian, for comparison",
        not_claimed=_NOT_CLAIMED,
    ),
    Method(
        name="agglomerative",
        hides="agglomerative",
        publishes="the smallest box, node or set over each group; boxes may overlap",
        behind=assign.whole_classes,
        paper=REVISITED,
        section="V-A, Algorithms 1 and 2",
        guarantee=_CROWD,
        adversary=_LINKER,
        needs="hierarchies for columns of more than 64 categories; slower than mondrian",
        not_claimed=_NOT_CLAIMED,
    ),
    Method(
        name="forest",
        hides="forest",
        publishes="the smallest box, node or set over each group; boxes may overlap",
        behind=assign.whole_classes,
        paper=REVISITED,
        section="V, after Aggarwal et al.: Anonymizing Tables",
        guarantee=_CROWD + "; with k alone, groups have at most 3k-3 records (of k=2: 3)",
        adversary=_LINKER,
        needs="at most 20,000 records; hierarchies for columns of more than 64 categories; for comparison",
        not_claimed=_NOT_CLAIMED,
    ),
)

METHODS: Mapping[str, Method] = {method.name: method for method in _ALL}


def method(name: str) -> Method:
    """Look a method up by name.

    Examples
    --------
    >>> method("mondrian").section
    '2.3, Figure 2'
    """
    if name not in METHODS:
        raise PolicyError(unknown("in the catalogue", [name], list(METHODS)))
    return METHODS[name]
