"""The claims that a release may make, one module for each family; `registry` lists them all."""
