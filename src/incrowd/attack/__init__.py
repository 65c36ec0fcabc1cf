"""What an adversary gets out of a table."""

from incrowd.attack.link import joined

__all__ = ["joined"]
