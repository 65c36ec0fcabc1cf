"""Experiments of the papers, run again beside the numbers that were printed."""
