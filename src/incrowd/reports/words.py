"""What the claims of a release mean, for readers who have no proofs in mind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# {others} is one less than k. Every registered model has an entry: a test says so.
MEANS: Mapping[str, str] = {
    "k-anonymity": "Every equivalence class has at least {k} people: a row's quasi-identifiers fit at least "
    "{others} others as well. Whoever looks for a person picks the right row with a chance of at most 1 in "
    "{k}.",
    "1k-anonymity": "Every person fits at least {k} rows.",
    "k1-anonymity": "Every row fits at least {k} people.",
    "kk-anonymity": "Every person fits at least {k} rows, and every row fits at least {k} people.",
    "global-1k-anonymity": "Every person has at least {k} rows that cannot be ruled out, even by somebody "
    "who knows the quasi-identifiers of everybody in the table.",
    "global-k1-anonymity": "Every row has at least {k} people who cannot be ruled out, even by somebody who "
    "knows the quasi-identifiers of everybody in the table.",
    "k-factor": "Rows differ from person to person, and people were assigned to rows at random: nobody has "
    "any row with a chance above 1 in {k}, even for somebody who knows how the release was made.",
    "distinct-l-diversity": "Whoever finds the equivalence class of a person still has at least {l} "
    "different values of {column} to choose from.",
    "entropy-l-diversity": "Within every equivalence class, {column} is at least as uncertain as {l} "
    "equally frequent values would be.",
    "recursive-l-diversity": "Within every equivalence class, the most frequent value of {column} is less "
    "than {c} times as frequent as all values from the {l}th most frequent on, taken together.",
    "frequency-l-diversity": "Within every equivalence class, no value of {column} makes up more than "
    "1/{l}: whoever finds the class of a person guesses the value with a chance of at most 1 in {l}.",
    "drawn-l-diversity": "By the randomized assignment of people to rows, nobody has any value of {column} "
    "with a chance above 1 in {l}.",
    "t-closeness": "Within every equivalence class, values of {column} are spread nearly as in the whole "
    "table: the distance between the two ({distance}) is at most {t}, where 0 is the same and 1 is as "
    "different as can be.",
    "plain": "No group tells that somebody in it stands out from all others, nor who or which value that "
    "would be. To stand out means that a share of at least {p} of all people lies further away than {d}.",
    "sensitive-groups": "Sensitive values are published in buckets of at least {k} people, beside the rows: "
    "whoever finds a person's row learns of the value only that it is one of its bucket.",
    "k-join-anonymity": "Every group has at least {k} people, some of whom are people of a public table who "
    "have rows as well. Whoever looks for a person and does not know who is in the private table picks the "
    "right row with a chance of at most 1 in {k}.",
}
UNKNOWN = "This report knows no words for this promise; its numbers stand beside it."

ROLES: Mapping[str, str] = {
    "quasi_identifier": "quasi-identifier: others may know it, so it is blurred",
    "sensitive": "sensitive: published as it is, and must not be tied to a person",
    "keep": "kept: published as it is, harmless by the publisher's word",
}
SHAPES: Mapping[str, str] = {"range": "intervals", "node": "labels of a hierarchy", "set": "sets of values"}

VALUES_ARE_OPEN = (
    "That sensitive values stay unknown. Nothing is promised about them here: if all rows that fit a person "
    "have the same value, that value is known."
)
VALUES_ALONE = (
    "More about sensitive values than the promises above say. Who knows that a person does not have some of "
    "the values has fewer left."
)
ROWS_ARE_FOUND = (
    "That a person's row cannot be found: rows are published as they are. Only which sensitive value is "
    "whose is hidden, and what all groups together tell about that is not counted."
)
PRESENCE = "That nobody learns who is in the table. It is taken to be known."
JOINED = (
    "Anything against somebody who knows who is in the private table. And presence is guessed better than by "
    "chance: whoever fits no row is not in it."
)
TWO_AT_ONCE = (
    "Anything about two people at once. Whoever knows one person's row knows more about the rows of others "
    "than in an equivalence class."
)
KEPT = (
    "That sensitive and kept columns together are no fingerprint: they are published as they are, and tell "
    "rows apart for whoever knows several of them."
)
ALWAYS = (
    "Anything about two releases put together. A second release about the same people, or what others "
    "publish about them, may narrow a class down to one.",
    "That columns have the right roles. A column that others know, but that is published as it is, undoes "
    "the promise.",
    "Anonymity in the sense of a law. That is for people to decide; this report helps them to.",
)


def meaning(model: str, parameters: Mapping[str, Any], column: str) -> str:
    """What a claim means, in a sentence or two.

    Examples
    --------
    >>> meaning("1k-anonymity", {"k": 5}, "")
    'Every person fits at least 5 rows.'
    >>> meaning("of tomorrow", {"k": 5}, "") == UNKNOWN
    True
    """
    k = parameters.get("k")
    known = {"others": k - 1 if isinstance(k, int) else k, **parameters, "column": column or "the values"}
    try:
        return MEANS[model].format_map(known)
    except KeyError:
        return UNKNOWN


def not_promised(manifest: Mapping[str, Any]) -> list[str]:
    """What nobody may read into the claims of a manifest."""
    models = {str(claim["model"]) for claim in manifest["claims"]}
    roles = {str(column["role"]) for column in manifest["columns"]}
    about_values = any("diversity" in model or model == "t-closeness" for model in models)
    found = []
    if "sensitive" in roles:
        found.append(VALUES_ALONE if about_values else VALUES_ARE_OPEN)
    if "apart" in manifest and "public" not in manifest:
        found.append(ROWS_ARE_FOUND)
    if "match_probability" in manifest:
        found.append(TWO_AT_ONCE)
    found.append(JOINED if "public" in manifest else PRESENCE)
    if roles & {"sensitive", "keep"} and "apart" not in manifest:
        found.append(KEPT)
    return [*found, *ALWAYS]


def questions(manifest: Mapping[str, Any]) -> list[str]:
    """What the published rows can be asked, and how far an answer can be trusted."""
    names = [str(column["name"]) for column in manifest["columns"] if column["role"] == "quasi_identifier"]
    about = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
    found = [
        f"How many people have certain values of {about}? Rows whose cells lie inside the condition count "
        "for certain, rows whose cells only touch it may count: together they give the least and the most. "
        "In between, count each row by the share of its cell that lies inside."
    ]
    if "public" in manifest:
        found.append(
            "Rows are of people of two tables. Counts of rows are counts of both; of the private table "
            "alone, only what the file of sensitive values counts is known."
        )
    if "apart" in manifest:
        found.append(
            "How often does each sensitive value occur? The second file says so exactly, for all and for "
            "each group; for other parts of the table only by estimate."
        )
    elif any(column["role"] == "sensitive" for column in manifest["columns"]):
        found.append(
            "How are sensitive and kept values spread, and how do they go together? Exactly as in the "
            "original, since these cells are untouched; for a part of the table as exactly as that part can "
            "be cut out."
        )
    if any(column.get("mean") for column in manifest["columns"]):
        found.append("What is the average of a column with means? Exact for whole classes.")
    found.append(
        "What cannot be asked: anything about one person, and the order of rows, which means nothing."
    )
    return found
