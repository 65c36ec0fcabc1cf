"""A release on disk: its folder, the private audit beside it, typed cells, stage and rename."""
