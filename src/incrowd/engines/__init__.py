"""Engines for tables that do not fit into memory: what such a table is asked, and DuckDB's answers.

`base` is the interface, `duckdb_engine` the engine that comes with incrowd. Who shares a row, what a row says
and what is promised is decided outside, the same for every engine.
"""
