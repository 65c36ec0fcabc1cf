"""What each row says: the smallest permissible region over the records that hide together."""

from incrowd.generalize.closure import generalize

__all__ = ["generalize"]
