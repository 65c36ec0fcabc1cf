"""Non-homogeneous generalization: each record has a row over records of its own, and rows overlap."""
