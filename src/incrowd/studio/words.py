"""The field's words, each with a plain sentence: those of docs/glossary.md, and what a page adds to them."""

from __future__ import annotations

from collections.abc import Mapping

from incrowd import long_work

# As the glossary says them; a test compares.
GLOSSARY: Mapping[str, str] = {
    "identifier": "A column that names a person. It is never published.",
    "quasi-identifier": "A column that outsiders may know about a person. It is published generalized.",
    "sensitive attribute": "A column that nobody may link to a person. It is published unchanged.",
    "kept column": "A harmless column, published unchanged.",
    "equivalence class": "All rows with equal quasi-identifiers; in short, a class.",
    "generalization hierarchy": "A tree over the values of a column, from each value up to * (everything).",
    "k-anonymity": (
        "Every equivalence class has at least k persons, and nobody has more than 1/k of its rows."
    ),
    "l-diversity": (
        "The sensitive values of every class are diverse: l different ones (distinct), or by entropy, "
        "(c,l) or frequency."
    ),
    "t-closeness": (
        "The sensitive values of every class are distributed as in the whole table, up to the distance t."
    ),
    "plain": "No class reveals that somebody in it is an outlier.",
    "exposure": "A weakness of a request that is known beforehand. It must be accepted by name.",
    "sample unique": "Somebody who is alone in the table with their quasi-identifiers.",
    "prosecutor risk": (
        "The adversary knows that the person is in the table. The risk of a row is 1/size of its class; the "
        "highest one is 1/size of the smallest class. How it is counted."
    ),
    "information loss": (
        "How much less a release says than the original; always by a named measure. All measures."
    ),
    "GCP": "The average NCP over all cells, from 0 (nothing generalized) to 1 (nothing left).",
    "verifier": (
        "The part of the program that checks a release against the original, and shares no code with the "
        "publisher."
    ),
    "suppression": "A record is not published at all. max_suppression limits it; who is left out.",
    "frontier": "The results of compare that no other beats in both risk and information loss.",
    "policy": "The file that gives every column a role, and states what is promised.",
}
# What follows a link in the glossary, and means nothing without it.
_LINKS = (" How it is counted.", " All measures.", "; who is left out.")


def meaning(term: str) -> str:
    """The plain sentence of a term."""
    sentence = GLOSSARY[term]
    for link in _LINKS:
        if sentence.endswith(link):
            return sentence.removesuffix(link).removesuffix(".") + "."
    return sentence


# Roles as pages name them; the order of the list of choices.
ROLES: Mapping[str, str] = {
    "identifier": "Identifier",
    "quasi_identifier": "Quasi-identifier",
    "sensitive": "Sensitive",
    "keep": "Keep",
    "drop": "Drop",
    "entity": "Person id",
    "undecided": "Undecided",
}
ROLE_MEANS: Mapping[str, str] = {
    "identifier": "names a person; never published",
    "quasi_identifier": "somebody may know it; published coarser",
    "sensitive": "a person may want it private; published as it is, among others",
    "keep": "harmless; published as it is",
    "drop": "not published",
    "entity": "says which rows are one person; never published",
    "undecided": "held back until you decide",
}
KINDS: Mapping[str, str] = {
    "numeric": "number",
    "date": "date",
    "ordered": "ordered",
    "categorical": "category",
}
STEPS: Mapping[str, str] = {"": "starting", **long_work.STEPS, "measure": "measuring"}  # also of tables
# How a method goes about it, for who chooses one; one that is not here says it in its own first line.
METHODS: Mapping[str, str] = {
    "agglomerative": "joins the closest records, group by group",
    "anatomy": "publishes sensitive values in a table of their own, in buckets of l",
    "best": "tries several methods for half a minute, and keeps what loses least",
    "cells": "makes the cheapest groups first, then exchanges records between them",
    "expc": "grows groups until none reveals an outlier",
    "forest": "joins each record to its nearest, then cuts what is too large",
    "global-1k": "as kk, then widens rows until every match is one of k",
    "gnof": "groups who is no outlier, then hides each outlier in a group",
    "gof": "groups around the outliers first, then the others",
    "hilbert": "sorts similar records beside each other along a curve, then cuts",
    "incognito": "one level of the hierarchy for a whole column: simple to explain, coarse",
    "k1-expansion": "grows a neighbourhood around each record by what costs least",
    "k1-nearest": "gives each record the k-1 neighbours that cost least",
    "kfactor": "gives each record a neighbourhood of its own, from cheap groups",
    "kja-direct": "hides people among those of a public table",
    "kja-direct-values": "as kja-direct, with the sensitive values of all private people, or of each class",
    "kja-refine": "hides people among those of a public table, and states how many are private",
    "kja-refine-adaptive": "groups the private table first, then within it with the public one",
    "kk": "grows neighbourhoods, then widens rows until everybody fits k of them",
    "lexicographic": "sorts by one column after the other, then cuts",
    "mondrian": "halves the table, by one column at a time, while groups stay large enough",
    "mondrian-relaxed": "as mondrian, but may part people with equal values",
    "one-k": "widens rows until everybody fits k of them",
    "remove-outliers": "leaves outliers out",
    "ring": "lays overlapping neighbourhoods over sorted records, and draws who is behind which row",
    "single": "the same ranges of a column for everybody",
    "topdown": "parts the records around two that differ most, again and again",
    "transparent": "deals people into buckets by chance, so that re-running the program tells nothing more",
}
# What each attack does, for who has not read of it. Results of one attack have longer names: degree-age.
ATTACKS: Mapping[str, str] = {
    "order": "takes the row that stands where the person stood",
    "degree": "picks one of the rows that a person fits",
    "matching": "also rules out rows that only others can have",
    "probability": "picks the row that is likeliest to be the person's",
    "rerun": "runs the program again, and looks for the row that it makes of the person",
    "corruption": "knows the rows of some people already, and picks one of those that are left",
    "rows": "puts values together to records of the original",
    "singling": "describes somebody so that nobody else fits",
    "downcoding": "concludes from a coarse cell that finer ones did not suffice",
    "homogeneity": "names the value that most of those have who are published alike",
    "skewness": "names the value that has become much likelier than in the whole table",
    "closeness": "counts people whose class differs from the table by more than t",
    "background": "rules out values that the person does not have, and names the commonest one left",
    "definetti": "learns from all classes how values go with quasi-identifiers",
    "series": "compares the releases of a series with each other",
    "suppression": "names those who fit no row, and so were left out",
    "totals": "guesses the value behind a coarse cell by the totals",
    "outliers": "looks for classes that only an outlier explains",
    "density": "looks for classes that only somebody among few others explains",
    "subspaces": "looks for outliers by a few of the columns",
    "composition": "keeps the rows that all releases allow",
    "equijoin": "picks one of the rows that a person of the public table fits",
    "presence": "claims that the likelier half of the public table is in the private one",
    "trimming": "claims those at the side of a class, since others would have been removed there",
    "outline": "claims those who alone explain the ends of a bucket's ranges",
    "membership": "knows who is in the private table, and picks one of them in the class",
    "planted": "has put invented people into the public table, and discounts them",
    "groups": "names the commonest value of the person's bucket",
}


def attack_words(name: str) -> str:
    """What an attack does; of one that is not known here, nothing.

    Examples
    --------
    >>> attack_words("homogeneity-cost")
    'names the value that most of those have who are published alike'
    """
    return ATTACKS.get(name.partition("-")[0].partition(" ")[0], "")
