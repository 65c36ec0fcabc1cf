"""The experiments of "Non-homogeneous Generalization", run again."""
