"""Kinds of faults that campaigns find and that are known to be open, with the reason. Empty is the goal."""

OPEN: dict[str, str] = {
    "a true release is rejected from disk (entity)": (
        "no links are kept where persons have several rows, so that persons are counted by some assignment"
    ),
}
