"""The experiments of "Hiding Distinguished Ones into Crowd", run again."""
