"""What the claims of a release mean, for readers who have no proofs in mind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# {others} is one less than k. Every registered model has an entry: a test says so.
MEANS: Mapping[str, str] = {
    "k-anonymity": "Every equivalence class has at least {k} people: each row has the same quasi-identifiers "
    "as the rows of at least {others} others. An adversary who looks for a person picks the right row with a "
    "probability of at most 1/{k} (prosecutor risk).",
    "k-persons": "Every equivalence class has rows of at least {k} people. Some may have more of them than "
    "others: an adversary who looks for them picks a row of theirs with a probability above 1/{k}.",
    "1k-anonymity": "Every person fits at least {k} rows.",
    "k1-anonymity": "Every row fits at least {k} people.",
    "kk-anonymity": "Every person fits at least {k} rows, and every row fits at least {k} people.",
    "global-1k-anonymity": "Every person has at least {k} rows that cannot be ruled out, even by an "
    "adversary who knows the quasi-identifiers of everybody in the table.",
    "global-k1-anonymity": "Every row has at least {k} people who cannot be ruled out, even by an adversary "
    "who knows the quasi-identifiers of everybody in the table.",
    "k-factor": "Rows differ from person to person (non-homogeneous generalization), and persons were "
    "assigned to rows at random: no person matches any row with a probability above 1/{k}, even for an "
    "adversary who knows how the release was made.",
    "distinct-l-diversity": "An adversary who finds the equivalence class of a person is still left with at "
    "least {l} different values of {column}.",
    "entropy-l-diversity": "In every equivalence class, {column} is at least as uncertain as {l} equally "
    "frequent values would be.",
    "recursive-l-diversity": "In every equivalence class, the most frequent value of {column} is less than "
    "{c} times as frequent as all values from the {l}th most frequent on, taken together.",
    "frequency-l-diversity": "In every equivalence class, no value of {column} makes up more than 1/{l}: an "
    "adversary who finds the class of a person guesses the value with a probability of at most 1/{l}.",
    "transparent-l-diversity": "Nobody has any value of {column} with a probability above 1/{l}, even for an "
    "adversary who knows the program and runs it again on every way to hand out the values.",
    "t-closeness": "In every equivalence class, values of {column} are distributed nearly as in the whole "
    "table: the distance between the two ({distance}) is at most {t}, where 0 is equal and 1 is the largest "
    "possible difference.",
    "plain": "No equivalence class reveals that somebody in it is an outlier, nor who or which value that "
    "would be. An outlier is a person from whom a share of at least {p} of all people lies further away than "
    "{d}.",
    "sensitive-groups": "Sensitive values are published separately, in buckets of at least {k} people: an "
    "adversary who finds a person's row learns only that the value is one of its bucket.",
    "k-join-anonymity": "Every equivalence class has at least {k} people, some of them from a public table, "
    "who have rows as well. An adversary who looks for a person and does not know who is in the private "
    "table picks the right row with a probability of at most 1/{k} (journalist risk).",
    "even-presence": "Every row states how many people its class has, and how many are in the private "
    "table. All of a class are there with the same probability, even for an adversary who re-runs the "
    "program; it is at most {most}.",
}
UNKNOWN = "This report has no explanation of this promise; its parameters are given."

ROLES: Mapping[str, str] = {
    "quasi_identifier": "quasi-identifier: others may know it, so it is generalized",
    "sensitive": "sensitive: published unchanged, and must not be linked to a person",
    "keep": "kept: published unchanged; the publisher considers it harmless",
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
    "That a person's row cannot be found: rows are published unchanged. Only the link between a person and "
    "a sensitive value is protected; what all buckets together disclose about it is not counted."
)
PRESENCE = "That nobody learns who is in the table. This is assumed to be known (prosecutor)."
JOINED = (
    "Anything against an adversary who knows who is in the private table (prosecutor). Presence can be "
    "guessed better than at random: a person who fits no row is not in it."
)
TWO_AT_ONCE = (
    "Anything about two people at once. An adversary who knows one person's row learns more about the rows "
    "of others than in an equivalence class."
)
KEPT = (
    "That sensitive and kept columns together do not identify a row: they are published unchanged, and "
    "distinguish rows for an adversary who knows several of them."
)
ALWAYS = (
    "Anything about two releases taken together. A second release about the same people, or what others "
    "publish about them, may reduce an equivalence class to one person.",
    "That columns have the right roles. A column that others know, but that is published unchanged, breaks "
    "the promise.",
    "Anonymity in the sense of a law. People must decide that; what is said here helps them.",
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
    """What the claims of a manifest do not include."""
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
        "with certainty, rows whose cells overlap it may count: this gives a lower and an upper bound. For "
        "an estimate, count each row by the share of its cell that lies inside."
    ]
    if "public" in manifest:
        found.append(
            "Rows are about people of two tables. Counts of rows are counts of both; about the private table "
            "alone, only the counts in the file of sensitive values are known."
        )
    if "apart" in manifest:
        found.append(
            "How often does each sensitive value occur? The second file has the exact counts, for all "
            "and for each bucket; for other parts of the table there are only estimates."
        )
    elif any(column["role"] == "sensitive" for column in manifest["columns"]):
        found.append(
            "How are sensitive and kept values distributed, and how do they depend on each other? Exactly as "
            "in the original, since these cells are unchanged; for a part of the table as exactly as the "
            "quasi-identifiers select that part."
        )
    if any(column.get("mean") for column in manifest["columns"]):
        found.append("What is the average of a column with means? Exact for whole equivalence classes.")
    found.append(
        "What cannot be asked: anything about one person, or about the order of rows, which has no meaning."
    )
    return found
