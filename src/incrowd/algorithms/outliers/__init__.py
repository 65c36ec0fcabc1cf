"""Groups that do not tell of outliers."""
