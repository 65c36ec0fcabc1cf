"""The experiments of "k-Anonymization Revisited", run again."""
