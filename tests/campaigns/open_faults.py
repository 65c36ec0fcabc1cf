"""Kinds of faults that campaigns find and that are known to be open, with the reason. Empty is the goal."""

_CHANNEL = "data and manifest are not yet compared byte by byte with what they would be written as"

OPEN: dict[str, str] = {
    "a true release is rejected from disk (entity)": (
        "no links are kept where persons have several rows, so that persons are counted by some assignment"
    ),
    "forgery accepted: drop_a_class": "a release may say that it suppressed records that the policy keeps",
    "forgery accepted: accept_silently": "verify -p does not look at what the policy accepts",
    "forgery accepted: remove_a_key levels": "incognito's levels may be left out of its manifest",
    "forgery accepted: hide_a_text": "some texts of the manifest are free",
    "forgery accepted: quote_otherwise": _CHANNEL,
    "forgery accepted: end_lines_otherwise": _CHANNEL,
    "forgery accepted: encode_otherwise": _CHANNEL,
    "forgery accepted: space_the_manifest": _CHANNEL,
    "forgery accepted: write_otherwise": _CHANNEL,
}
