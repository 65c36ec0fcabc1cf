"""Compiled loops over arrays (numba), which know nothing else of incrowd."""
