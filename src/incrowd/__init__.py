"""Publish a table about people so that everyone in it hides in a crowd of at least k."""

__version__ = "0.1.0"
