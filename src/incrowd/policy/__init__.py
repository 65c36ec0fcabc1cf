"""The request: which column is what to the people in the table, and what is promised to them."""

from incrowd.policy.policy import Policy, needed
from incrowd.policy.text import PolicyText

__all__ = ["Policy", "PolicyText", "needed"]
