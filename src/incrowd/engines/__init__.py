"""Engines for tables that do not fit into memory: what such a table is asked, and the answers.

`base` is the interface, `sql_engine` what engines share, `in_duckdb` the one that comes with incrowd, and
`in_spark` the one for clusters. Who shares a row, what a row says
and what is promised is decided outside, the same for every engine.
"""
