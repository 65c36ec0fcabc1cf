"""What a release says about its draw: how likely its likeliest match is, and how likely it must be.

That something was drawn cannot be seen in one release. What can be seen is whether such a draw is possible.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from incrowd.schema import Claim
from incrowd.verifier.consistency import Consistency
from incrowd.verifier.factor import reaches
from incrowd.verifier.fault import need

KEY = "match_probability"
SPEAK_OF_MATCHES = frozenset(
    {
        "1k-anonymity",
        "k1-anonymity",
        "kk-anonymity",
        "global-1k-anonymity",
        "global-k1-anonymity",
        "k-factor",
        "drawn-l-diversity",
    }
)
DRAWN_FROM_K = frozenset({"k-factor", "drawn-l-diversity"})
_SHARE = re.compile(r"1|[1-9][0-9]{0,17}/[1-9][0-9]{0,17}")


def drawn_from(claims: Sequence[Claim]) -> bool:
    """Must a release with these claims say how likely its matches are?"""
    return any(claim.model in SPEAK_OF_MATCHES for claim in claims)


def check_odds(said: Any, claims: Sequence[Claim], graph: Consistency) -> str:
    """Fault, unless a draw as likely as `drawn` exists, none below `least` can, and the claims agree.

    That no draw lies below `least` is confirmed only as far as the fewest neighbours of a record or row tell.
    """
    need(isinstance(said, dict) and set(said) == {"drawn", "least"}, "the odds are not fully said")
    texts = [said["drawn"], said["least"]]
    exact = all(isinstance(text, str) and _SHARE.fullmatch(text) for text in texts)
    need(exact, "the odds are no fractions")
    drawn, least = map(Fraction, texts)
    need(least <= drawn <= 1, "the odds of the draw are below the least that there can be, or above one")
    need(drawn.numerator == 1, "the odds of the draw are not one in a number of rows")
    for claim in claims:
        promised = claim.parameters.get("k")
        if claim.model in DRAWN_FROM_K and isinstance(promised, int) and promised > 0:
            need(drawn <= Fraction(1, promised), "the draw is not as even as the release claims")
    if drawn < 1 and not graph.witnessed(drawn.denominator):
        need(reaches(graph, drawn), "no draw is as even as the release says")
    if least < drawn:
        need(reaches(graph, least), "no draw reaches the least odds that the release says")
    fewest = int(graph.degrees.rows.min())
    if not graph.left_out:
        fewest = min(fewest, int(graph.degrees.records.min()))
    need(least >= Fraction(1, fewest), "the least odds are lower than they can be")
    return ""
