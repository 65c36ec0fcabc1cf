"""The process of the bench: reads a table once, then answers questions about it until its pipe closes."""

from __future__ import annotations

from typing import Any

from incrowd.studio import child
from incrowd.studio.questions import question
from incrowd.studio.questions.open_table import OpenTable, read_table


def serve() -> None:
    """One question a line, one answer a line."""
    lines, out = child.talk()
    child.quiet_end()
    table: OpenTable | None = None
    for message in child.messages(lines):
        try:
            if message["ask"] == "open_table":
                table = None  # the old one goes before the new one comes
                table = read_table(**message["about"])
                answer: Any = table.summary()
            else:
                answer = question(message["ask"])(table, **message["about"])
            child.say(out, {"answer": answer})
        except Exception as error:
            child.say(out, child.refusal(error))


if __name__ == "__main__":
    serve()
