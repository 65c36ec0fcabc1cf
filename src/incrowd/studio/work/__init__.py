"""The heavy commands of the studio, one module each: `run(reporter, **request)` in a process of its own.

It returns what `jobs/ID.json` and the page get: names and numbers, never a cell. With ``{"stopped": True,
…}`` it says that it was interrupted and kept what it has.
"""
