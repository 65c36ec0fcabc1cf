"""The experiments of "Achieving Multidimensional K-Anonymity by a Greedy Approach", run again."""
