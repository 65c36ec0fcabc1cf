"""Questions about the promise: what a policy asks for in words, what is impossible, and what is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from incrowd.algorithms.base import Algorithm, method
from incrowd.contracts import Promise
from incrowd.encode import encode_values
from incrowd.errors import Exposure, IncrowdError
from incrowd.flow import Microdata, Sensitive
from incrowd.models import Plain
from incrowd.policy import Policy
from incrowd.policy.columns import described
from incrowd.policy.exposures import EVERY, EXPOSURES, SMALL_MEANS, UNEVEN_PERSONS
from incrowd.policy.toml_edits import toml
from incrowd.publishing.request import requested
from incrowd.schema import Role
from incrowd.studio.questions.hierarchies import source_of
from incrowd.studio.questions.open_table import OpenTable, policy_from
from incrowd.studio.questions.promise_words import Promised
from incrowd.studio.questions.risk import near_unique_columns
from incrowd.values import same_name

# Keys that some screen has a control for; all others are shown, and stay as they are.
CONTROLLED: Mapping[str, tuple[str, ...] | None] = {
    "identifiers": None,
    "keep": None,
    "drop": None,
    "undecided": None,
    "missing": None,
    "entity": None,
    "method": None,
    "accept": None,
    "totals": None,
    "privacy": ("k", "l", "l_kind", "c", "t", "t_distance", "max_suppression", "plain.p", "plain.d"),
}
OF_A_COLUMN = {
    "quasi_identifiers": (
        *("type", "format", "hierarchy", "family", "complete", "public"),
        *("publish", "mean"),
    ),
    "sensitive": ("type", "format"),
}
# Which control a sentence of the library is about, by what it says.
CONTROLS = (
    ("max_suppression", "max_suppression"),
    ("totals", "totals"),
    ("entity", "entity"),
    ("plain", "plain"),
    ("[privacy]: l ", "l"),
    ("[privacy]: t ", "t"),
    ("k = ", "k"),
)


def check(opened: OpenTable, text: str, folder: str) -> list[dict[str, str]]:
    """What of a promise cannot be: the control it is about, why, and whether no release could keep it."""
    policy = policy_from(text, folder)
    if policy.privacy.k is None:
        return [_flaw("k", "Choose k: without it nothing is promised.")]
    try:
        asked = requested(policy)
    except Exposure as error:
        return [_flaw("accept", error.on_the_command_line, exposure=error.name)]
    except IncrowdError as error:
        sentence = error.on_the_command_line
        return [_flaw(_control_of(sentence), sentence)]
    if asked.algorithm.needs_plain and policy.privacy.plain is None:
        return [_flaw("plain", f"{policy.method} hides outliers, so it needs p and d; give both")]
    return list(_impossible(opened, policy, asked.promised))


def _flaw(control: str, sentence: str, exposure: str = "", impossible: str = "") -> dict[str, str]:
    return {"control": control, "sentence": sentence, "exposure": exposure, "impossible": impossible}


def _control_of(sentence: str) -> str:
    return next((control for words, control in CONTROLS if words in sentence), "method")


def _impossible(opened: OpenTable, policy: Policy, promised: tuple[Promise, ...]) -> Iterator[dict[str, str]]:
    """By the models themselves. What outliers are needs all distances, and is left to whoever publishes."""
    try:
        data = _without_quasi_identifiers(opened, policy)
        for model in promised:
            if isinstance(model, Plain) or not (why := model.infeasible(data)):
                continue
            control = {"l": "l", "t": "t"}.get(_letter(model), "k")
            exposure = UNEVEN_PERSONS.name if UNEVEN_PERSONS.name in why else ""
            of_persons = why.startswith("entity")
            yield _flaw("entity" if of_persons else control, why, exposure, "yes")
    except IncrowdError as error:
        yield _flaw(_control_of(error.on_the_command_line), error.on_the_command_line)


def _letter(model: Promise) -> str:
    return "l" if hasattr(model, "l") else "t" if hasattr(model, "t") else "k"


def _without_quasi_identifiers(opened: OpenTable, policy: Policy) -> Microdata:
    """Sensitive columns and persons as numbers: all that these models look at before there are classes."""
    sensitive = tuple(_sensitive(opened, policy, name) for name in _named(opened, policy.sensitive))
    persons = None
    if policy.entity is not None:
        (name,) = _named(opened, (policy.entity,))
        persons = opened.table.column(name).codes.astype(np.int32)
    return Microdata(np.empty((len(opened.table), 0), np.int32), (), sensitive, persons)


def _named(opened: OpenTable, names: Any) -> list[str]:
    known = {same_name(name): name for name in opened.table.names}
    return [known[same_name(name)] for name in names if same_name(name) in known]


def _sensitive(opened: OpenTable, policy: Policy, name: str) -> Sensitive:
    """A sensitive column, numbered once for all promises."""
    said = policy.sensitive[same_name(name)]
    key = ("sensitive", name, said.model_dump_json(), policy.missing)
    if key not in opened.remembered:
        column = described(name, Role.SENSITIVE, said, source_of(opened, policy), None)
        texts = opened.table.column(name)
        found = encode_values(column, texts.texts, frozenset(policy.missing))
        opened.remembered[key] = replace(found, codes=found.codes[texts.codes])
    column_found: Sensitive = opened.remembered[key]
    return column_found


def facts(opened: OpenTable, text: str, folder: str) -> dict[str, Any]:
    """What the controls must know: how many people there are, and values of each sensitive column."""
    policy = policy_from(text, folder)
    entity = _named(opened, () if policy.entity is None else (policy.entity,))
    persons = int(np.unique(opened.table.column(entity[0]).codes).size) if entity else None
    values = {}
    for name in _named(opened, policy.sensitive):
        try:
            values[name] = int(np.unique(_sensitive(opened, policy, name).codes).size)
        except IncrowdError:
            values[name] = 0
    recipe = _recipe(policy)
    return {
        "rows": len(opened.table),
        "persons": persons,
        "values": values,
        "transparent": bool(recipe and recipe.transparent),
        "kept": list(_kept(policy)),
        "exposures": exposures(opened, text, folder),
    }


def _recipe(policy: Policy) -> type[Algorithm] | None:
    try:
        return method(policy.method)
    except IncrowdError:
        return None


def promise(opened: OpenTable, text: str, folder: str) -> dict[str, str]:
    """The whole promise in one sentence, what it is not in another, and whom it does not hold against."""
    policy = policy_from(text, folder)
    if policy.privacy.k is None:
        return {"promise": "", "not": "", "reruns": ""}
    if any(not flaw["impossible"] for flaw in check(opened, text, folder)):
        return {"promise": "", "not": "", "reruns": ""}
    try:
        claims = requested(policy).claims(_without_quasi_identifiers(opened, policy))
    except IncrowdError:  # `check` says why
        return {"promise": "", "not": "", "reruns": ""}
    said = Promised(policy, method(policy.method), _named(opened, policy.sensitive), claims)
    return {"promise": said.sentence(), "not": said.not_promised(), "reruns": said.rerun()}


def exposures(opened: OpenTable, text: str, folder: str) -> list[dict[str, Any]]:
    """Exposures that concern this policy, or that it has accepted: by name, with what each discloses."""
    policy = policy_from(text, folder)
    why: dict[str, str] = {}
    blocks = {flaw["exposure"] for flaw in check(opened, text, folder)}
    for one in near_unique_columns(opened, text, folder):
        why[one["exposure"]] = f"In {one['column']} {one['alone']:,} rows have a value that nobody else has"
        blocks.add(one["exposure"])
    if policy.entity is not None:
        why[UNEVEN_PERSONS.name] = f"The column {policy.entity} says whose row it is: somebody may have many"
    means = [name for name, said in policy.quasi_identifiers.items() if said.mean]
    if means:
        why[SMALL_MEANS.name] = f"The mean of {means[0]} is published"
    try:
        requested(policy.with_(k=policy.privacy.k or 2))
    except Exposure as error:
        why[error.name] = f"The method {policy.method} does this"
    except IncrowdError:
        pass
    return [
        {
            "name": known.name,
            "meaning": known.meaning,
            "why": why.get(known.name, ""),
            "accepted": known.name in policy.accept,
            "blocks": known.name in blocks and not known.accepted(policy.accept),
        }
        for known in EXPOSURES
        if known.name in why or known.name in policy.accept
    ] + (
        [
            {
                "name": EVERY,
                "meaning": "all are accepted",
                "why": "",
                "accepted": True,
                "blocks": False,
            }
        ]
        if EVERY in policy.accept
        else []
    )


def _kept(policy: Policy) -> Iterator[dict[str, str]]:
    """Keys that no screen has a control for, as the file would write them."""
    for key, value in policy.to_dict().items():
        if key in OF_A_COLUMN:
            for column, said in value.items():
                for word, inner in said.items():
                    if word not in OF_A_COLUMN[key]:
                        yield {"key": f"{key}.{column}.{word}", "value": toml(inner)}
        elif key == "privacy":
            yield from _kept_of_privacy(value)
        elif key not in CONTROLLED:
            yield {"key": key, "value": toml(value)}


def _kept_of_privacy(privacy: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for word, value in privacy.get("plain", {}).items():
        if word not in ("p", "d"):
            yield {"key": f"privacy.plain.{word}", "value": toml(value)}


QUESTIONS = {"guarantee": facts, "guarantee_check": check, "promise": promise}
