"""How records are grouped: every algorithm, the base that says what it is, and the catalogue of methods."""
