"""The catalogue: every method as a recipe of grouping, generalization and assignment, with its guarantee."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from incrowd.algorithms import anatomy, kja  # noqa: F401 - all of these register their groupers
from incrowd.algorithms.nonhomogeneous import revisited, ring  # noqa: F401
from incrowd.algorithms.outliers import expc  # noqa: F401
from incrowd.algorithms.partitions import (  # noqa: F401
    agglomerative,
    forest,
    hilbert,
    incognito,
    lexicographic,
    mondrian,
    single,
    topdown,
)
from incrowd.algorithms.partitions.workload import read_workload
from incrowd.contracts import Grouper, catalogue, option_names
from incrowd.errors import PolicyError, unknown

REVISITED = "Gionis, Mazza, Tassa: k-Anonymization Revisited"
NONHOMOGENEOUS = (
    "Wong, Mamoulis, Cheung: Non-homogeneous Generalization in Privacy Preserving Data Publishing"
)
EXTERNAL = "Sacharidis, Mouratidis, Papadias: k-Anonymity in the Presence of External Databases"
OUTLIERS = "Wang, Liu: Hiding Distinguished Ones into Crowd"
MULTIDIMENSIONAL = "Murthy, Srinivas: Achieving Multidimensional K-Anonymity by a Greedy Approach"


@dataclass(frozen=True)
class Method:
    """A recipe, and what the catalogue says about it.

    `hides` names a registered grouper, `publishes` what its rows say, `behind` in words who is behind them.
    `printed` says for given options whether this is the paper's own form.
    """

    name: str
    hides: str
    publishes: str
    behind: str
    paper: str
    section: str
    guarantee: str
    adversary: str
    needs: str
    not_claimed: str
    printed: Callable[[Mapping[str, Any]], bool] = lambda _options: False

    @property
    def diverse(self) -> bool:
        """Does it keep l although every record has a row of its own?"""
        return bool(getattr(catalogue("grouper")[self.hides], "diverse", False))

    @property
    def buckets(self) -> bool:
        """Does it leave rows as they are, and publish sensitive values apart from them, by groups?"""
        return bool(getattr(catalogue("grouper")[self.hides], "buckets", False))

    @property
    def joins(self) -> bool:
        """Does it take a public table, whose people stand in the crowd?"""
        return bool(getattr(catalogue("grouper")[self.hides], "joins", False))

    @property
    def suppresses(self) -> bool:
        """Does it leave records out of its own accord, up to a limit?"""
        return "max_suppression" in option_names(catalogue("grouper")[self.hides])

    @property
    def options(self) -> tuple[str, ...]:
        """The names of the options; k and how many may be left out are not among them: they are promised."""
        every = option_names(catalogue("grouper")[self.hides])
        return tuple(name for name in every if name not in ("k", "max_suppression"))

    def grouper(self, k: int, options: Mapping[str, Any], max_suppression: str = "0") -> Grouper:
        """The first part of the recipe with its options set."""
        strange = [name for name in options if name not in self.options]
        if strange:
            raise PolicyError(unknown(f"an option of {self.name}", strange, self.options))
        given = dict(options)
        if "workload" in given:
            given["workload"] = read_workload(given["workload"])
        if self.suppresses:
            given["max_suppression"] = max_suppression
        made: Grouper = catalogue("grouper")[self.hides](k=k, **given)
        return made

    def as_dict(self) -> dict[str, Any]:
        part = catalogue("grouper")[self.hides]
        defaults = {field.name: field.default for field in fields(part) if field.name in self.options}
        return {
            "name": self.name,
            "hides": self.hides,
            "publishes": self.publishes,
            "behind": self.behind,
            "paper": self.paper,
            "section": self.section,
            "guarantee": self.guarantee,
            "adversary": self.adversary,
            "needs": self.needs,
            "not_claimed": self.not_claimed,
            "options": {
                name: {
                    "default": list(default) if isinstance(default, tuple) else default,
                    "must_be": part.limits[name].words()
                    if name in part.limits
                    else "a list of conditions in SQL",
                }
                for name, default in defaults.items()
            },
        }


_WHOLE = "each row has its own record; rows of an equivalence class are equal, and shuffled"
_DRAWN = "randomized: one of k disjoint assignments; with drawn = false each row has its own record"
_UNSAFE = "a record may fit one row only; for comparison, refused unless unsafe-one-sided is accepted"
_FITS = "hierarchies for columns of more than 64 categories; no l, t, entity or means"
_FACTOR = "no match of a person and a row has a probability above 1/k"
_OVERLAPPING = "the smallest box, node or set over each group; boxes may overlap"
_WHOSE = "wants to know whose row this is, and knows nobody else in the table"
_CLASSES = "everyone's quasi-identifiers equal those of at least k-1 others"
_LINKER = "knows everyone's quasi-identifiers, and how the release was made"
_NOT_CLAIMED = (
    "that sensitive values stay unknown (ask for l or t), that presence is not disclosed, anything about "
    "two releases of the same people"
)

_partition = partial(Method, behind=_WHOLE, adversary=_LINKER, not_claimed=_NOT_CLAIMED)
_one_sided = partial(
    Method, behind=_DRAWN, paper=REVISITED, needs=_FITS, not_claimed=_UNSAFE, printed=lambda _options: True
)
_regular = partial(
    Method,
    publishes="for each record the smallest box, node or set over k records, each of which has k rows",
    behind=_DRAWN,
    guarantee=_FACTOR,
    adversary=_LINKER,
    needs=_FITS,
    not_claimed=_NOT_CLAIMED.replace(" (ask for l or t)", ""),
)


_joined = partial(
    Method,
    behind="each row has its own person; rows of a class are equal, and shuffled",
    paper=EXTERNAL,
    guarantee="everyone's row equals those of at least k-1 other people, some of them of the public table",
    adversary="knows everyone's quasi-identifiers and the public table, but not who is in the private one",
    needs="a public table of real people with the same quasi-identifiers and ids; secret membership",
    not_claimed="anything against somebody who knows who is in the private table; that nobody's presence is "
    "guessed better than by chance; anything about two releases",
    printed=lambda options: options.get("trim", "none") != "none" or options.get("first") == "private",
)


def _as_printed(options: Mapping[str, Any]) -> bool:
    return options.get("mend") is False and options.get("drawn") is False


def _expc_printed(options: Mapping[str, Any]) -> bool:
    limits = (options.get(name) == 0 for name in ("tries", "patience", "merges"))
    return options.get("values") == "any" and options.get("loss") == "printed" and all(limits)


_plain = partial(
    Method,
    behind=_WHOLE,
    publishes=_OVERLAPPING,
    paper=OUTLIERS,
    adversary="knows everyone's quasi-identifiers, who is an outlier, and how the release was made",
    needs="[privacy.plain]; suppresses records; slow where outliers are many",
    not_claimed=_NOT_CLAIMED,
)


_ALL = (
    _partition(
        name="mondrian",
        hides="mondrian",
        publishes="the smallest box, node or set over each group",
        paper=MULTIDIMENSIONAL,
        section="2.3, Figure 2",
        guarantee=_CLASSES,
        needs="nothing; hierarchies are optional",
        printed=lambda options: options.get("median") == "printed",
    ),
    _partition(
        name="mondrian-relaxed",
        hides="mondrian-relaxed",
        publishes=_OVERLAPPING,
        paper=MULTIDIMENSIONAL,
        section="2.3, relaxed partitioning",
        guarantee=_CLASSES + "; groups have at most 2k-1 records",
        needs="nothing; hierarchies are optional",
    ),
    _partition(
        name="single",
        hides="single",
        publishes="each column recoded on its own, the same for all records",
        paper=MULTIDIMENSIONAL,
        section="2.2, single-dimensional partitioning",
        guarantee=_CLASSES,
        needs="nothing; loses far more than mondrian, for comparison",
    ),
    _partition(
        name="topdown",
        hides="topdown",
        publishes=_OVERLAPPING,
        paper=EXTERNAL,
        section="2.2, after Xu et al.: Utility-Based Anonymization Using Local Recoding",
        guarantee=_CLASSES,
        needs="nothing; hierarchies are optional",
        printed=lambda options: options.get("assign") == "printed",
    ),
    _partition(
        name="agglomerative",
        hides="agglomerative",
        publishes=_OVERLAPPING,
        paper=REVISITED,
        section="V-A, Algorithms 1 and 2",
        guarantee=_CLASSES,
        needs="hierarchies for columns of more than 64 categories; slower than mondrian",
    ),
    _partition(
        name="forest",
        hides="forest",
        publishes=_OVERLAPPING,
        paper=REVISITED,
        section="V, after Aggarwal et al.: Anonymizing Tables",
        guarantee=_CLASSES + "; with k alone, groups have at most 3k-3 records (of k=2: 3)",
        needs="at most 20,000 records; hierarchies for columns of more than 64 categories; for comparison",
    ),
    _partition(
        name="lexicographic",
        hides="lexicographic",
        publishes=_OVERLAPPING,
        paper=NONHOMOGENEOUS,
        section="5.3.1, Figure 8: the rival HP",
        guarantee=_CLASSES,
        needs="nothing; for few columns, or to compare with ring",
        printed=lambda options: options.get("rule") == "pseudocode",
    ),
    _partition(
        name="hilbert",
        hides="hilbert",
        publishes=_OVERLAPPING,
        paper=NONHOMOGENEOUS,
        section="7, the rivals HR and HS, after Ghinita et al.: Fast Data Anonymization",
        guarantee=_CLASSES + "; with k alone, groups have at most 2k-1 records",
        needs='nothing; numbers as ranges are HR, as sets (publish = "set") HS',
    ),
    _partition(
        name="incognito",
        hides="incognito",
        publishes="each column at one level of its hierarchy, the same for all records",
        paper=OUTLIERS,
        section="8, the rival Incognito, after LeFevre et al.: Incognito",
        guarantee=_CLASSES,
        needs="hierarchies; else intervals of numbers double, and categories are all or nothing. For "
        "comparison, or with levels that were chosen without the table",
    ),
    _plain(
        name="expc",
        hides="expc",
        section="7, Algorithm 1",
        guarantee=_CLASSES + "; no class reveals an outlier",
        printed=_expc_printed,
    ),
    _plain(
        name="gnof",
        hides="gnof",
        section="8.1, the rival GNOF: groups of those who are no outliers first",
        guarantee=_CLASSES + "; no class reveals an outlier",
        printed=_expc_printed,
    ),
    _plain(
        name="gof",
        hides="gof",
        section="8.1, the rival GOF: groups around outliers first",
        guarantee=_CLASSES + "; no class reveals an outlier",
        printed=_expc_printed,
    ),
    _plain(
        name="remove-outliers",
        hides="remove-outliers",
        section="8.3, the rival that removes all outliers",
        guarantee=_CLASSES + "; no class reveals an outlier",
        printed=_expc_printed,
    ),
    _regular(
        name="ring",
        hides="ring",
        paper=NONHOMOGENEOUS,
        section="5, Figures 5, 7 and 8; 6 for l: the method NH",
        needs="nothing; l for one sensitive column; no t, entity or means",
        printed=lambda options: options.get("split") == "printed",
    ),
    _one_sided(
        name="k1-nearest",
        hides="k1-nearest",
        publishes="for each record the smallest box, node or set over its k nearest",
        section="V-B, Algorithm 3",
        guarantee="every row fits at least k records",
        adversary=_WHOSE,
    ),
    _one_sided(
        name="k1-expansion",
        hides="k1-expansion",
        publishes="for each record the smallest box, node or set over a neighbourhood that grew around it",
        section="V-B, Algorithm 4",
        guarantee="every row fits at least k records",
        adversary=_WHOSE,
    ),
    _one_sided(
        name="one-k",
        hides="one-k",
        publishes="rows unchanged, some of them generalized",
        section="V-B, Algorithm 5",
        guarantee="every record fits at least k rows",
        adversary="looks for one person, and knows nobody else in the table",
        not_claimed="most rows stay unchanged; for comparison, refused unless unsafe-one-sided is accepted",
    ),
    _regular(
        name="kk",
        hides="kk",
        paper=REVISITED,
        section="V-B, Algorithms 3 or 4, and 5; made k-regular, which the paper does not do",
        printed=_as_printed,
    ),
    _regular(
        name="global-1k",
        hides="global-1k",
        paper=REVISITED,
        section="V-C, Algorithm 6 after 3 or 4, and 5; made k-regular, which the paper does not do",
        printed=_as_printed,
    ),
    _regular(
        name="kfactor",
        hides="kfactor",
        paper="none: combines k-Anonymization Revisited and Non-homogeneous Generalization",
        section="docs/claims/kfactor.md",
    ),
    Method(
        name="anatomy",
        hides="anatomy",
        publishes="every row unchanged, with its bucket; sensitive values by bucket in a second file",
        behind="each row's own record; which of a group's values is whose is not published",
        paper=NONHOMOGENEOUS,
        section="7.4, the rival AT, after Xiao and Tao: Anatomy",
        guarantee="nobody's sensitive value is known with more than chance 1/l by the groups alone",
        adversary="knows everyone's quasi-identifiers, and how the release was made",
        needs="l; one sensitive column, none to keep; no t, entity or means; accept exact-rows",
        not_claimed="that rows cannot be found: they are exact. That presence, or what quasi-identifiers "
        "tell about sensitive values, stays unknown; anything about two releases of the same people",
    ),
    _joined(
        name="kja-direct",
        hides="kja-direct",
        publishes="for everyone of the private table, and those of the public one who are added, the "
        "smallest box, node or set over their group; no sensitive values",
        section="3 and 4, Direct",
    ),
    _joined(
        name="kja-refine",
        hides="kja-refine",
        publishes="the same, and sensitive values in buckets, by the groups of the private table alone",
        section="3 and 4, Refinement; l, which the paper leaves open",
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
