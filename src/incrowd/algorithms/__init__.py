"""Anonymization algorithms, by what they make: equivalence classes, non-homogeneous rows, buckets, joins."""
