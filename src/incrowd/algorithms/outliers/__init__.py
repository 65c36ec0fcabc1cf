"""Algorithms whose groups do not disclose outliers."""
