"""Looking at a table before anything is promised."""

from incrowd.commands.inspect.policy_text import policy_text
from incrowd.commands.inspect.profile import Profile, inspect

__all__ = ["Profile", "inspect", "policy_text"]
