"""Looking at a table before anything is promised."""

from incrowd.profile.policy_text import policy_text
from incrowd.profile.table import Profile, inspect

__all__ = ["Profile", "inspect", "policy_text"]
