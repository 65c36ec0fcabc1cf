"""The process of the bench: reads a table once, then answers questions about it until its pipe closes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from incrowd.studio import child
from incrowd.studio.questions import question
from incrowd.studio.questions.open_table import OpenTable, read_table


class Answers:
    """The table that was opened last, and what is said about it."""

    def __init__(self) -> None:
        self.table: OpenTable | None = None

    def line(self, message: Mapping[str, Any]) -> bytes:
        """The answer to one question, or why there is none, as a line of JSON."""
        try:
            return child.line_of({"answer": self._to(message["ask"], message["about"])})
        except Exception as error:
            return child.line_of(child.refusal(error))

    def _to(self, asked: str, about: Mapping[str, Any]) -> Any:
        if asked != "open_table":
            return question(asked)(self.table, **about)
        self.table = None  # the old one goes before the new one comes
        self.table = read_table(**about)
        return self.table.summary()


def serve() -> None:
    """One question a line, one answer a line."""
    lines, out = child.talk()
    child.quiet_end()
    answers = Answers()
    for message in child.messages(lines):
        out.write(answers.line(message))
        out.flush()


if __name__ == "__main__":
    serve()
