"""Methods that partition the records: the rows of a group are equal."""
