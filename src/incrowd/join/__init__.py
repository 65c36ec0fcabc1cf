"""The private table and the people of a public one, side by side, for k-join-anonymity.

Whoever is in the public table and not in the private one can stand in an equivalence class of those who are.
"""
