"""The experiments of "k-Anonymity in the Presence of External Databases", run again."""
