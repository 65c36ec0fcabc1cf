"""l-diversity that holds against somebody who re-runs the program: strata, plan, deal, forget, split."""
