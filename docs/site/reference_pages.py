"""Pages of the reference that are made from the program: options, Python, keys of a policy."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Iterable, Mapping
from typing import Any

import typer.main

import incrowd
from incrowd.cli.app import app
from incrowd.policy import Policy

Schema = Mapping[str, Any]


def pages() -> dict[str, str]:
    """Every page by its name."""
    return {"options": options_page(), "api": api_page(), "policy-schema": schema_page()}


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown; bars inside cells do not end them."""
    head = list(header)
    lines = [head, ["---"] * len(head), *rows]
    shown = (
        "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |"
        for line in lines
    )
    return "\n".join(shown) + "\n"


# Options, from the parser


def options_page() -> str:
    """Every command with its arguments and options, as `--help` tells them."""
    root: Any = typer.main.get_command(app)
    told = [
        "# Commands and options\n",
        "Made from the parser: what `incrowd COMMAND --help` prints, on one page. Examples, output and exit codes are in "
        "[the command line](../cli.md).\n",
    ]
    for name, command in sorted(root.commands.items()):
        told += [f"## incrowd {name}\n", _help(command.help or "")]
        arguments = [each for each in command.params if each.param_type_name == "argument"]
        options = [each for each in command.params if each.param_type_name == "option"]
        if arguments:
            told.append(
                table(
                    ("argument", ""), ((f"`{_upper(each)}`", in_code(each.help or "")) for each in arguments)
                )
            )
        told.append(table(("option", "default", ""), (_option(each) for each in options)))
    return "\n".join(told)


_FLAG = re.compile(r"(?<![\w`-])(--?[a-z][\w-]*)")


def in_code(words: str) -> str:
    """A text of the screen for a page: options in it as code."""
    return _FLAG.sub(r"`\1`", words)


def _help(text: str) -> str:
    """The help of a command; examples stand in it after a word and a colon."""
    paragraphs = inspect.cleandoc(text).replace("\f", "").split("\n\n")
    shown = []
    for paragraph in paragraphs:
        words = " ".join(paragraph.split())
        head, colon, command = words.partition("Example: ")
        shown.append(f"{in_code(head)}\n```console\n$ {command}\n```" if colon else in_code(words))
    return "\n\n".join(shown) + "\n"


def _upper(argument: Any) -> str:
    return str(argument.name).upper()


def _option(option: Any) -> tuple[str, str, str]:
    flags = ", ".join(f"`{flag}`" for flag in (*option.opts, *option.secondary_opts))
    given = option.default
    none = given is None or isinstance(given, bool) or callable(given) or given in ((), [], "")
    return flags, "" if none else f"`{given}`", in_code(option.help or "")


# Python, from the docstrings


def api_page() -> str:
    """Every public name with its docstring, and what the verbs return."""
    verbs = [name for name in incrowd.__all__ if name.islower()]
    nouns = [name for name in incrowd.__all__ if name in ("Policy", "Source")]
    errors = [name for name in incrowd.__all__ if name not in (*verbs, *nouns)]
    told = [
        "# Python, name by name\n",
        "Made from the docstrings. How the names work together is told in [incrowd in Python](../python.md).\n",
        "## Functions\n",
        *(_directive("autofunction", f"incrowd.{name}") for name in verbs),
        "## What they return\n",
        *(_directive("autoclass", place, "members", "no-index") for place in results(verbs)),
        "## Policy and source\n",
        _directive(
            "autoclass", "incrowd.Policy", "members: load, from_dict, of, with_, to_dict, json_schema"
        ),
        _directive("autoclass", "incrowd.Source"),
        "## Errors\n",
        *(_directive("autoexception", f"incrowd.{name}", "show-inheritance") for name in errors),
    ]
    return "\n".join(told)


def results(verbs: Iterable[str]) -> list[str]:
    """The classes that verbs return, each once, by module and name."""
    found: dict[str, None] = {}
    for verb in verbs:
        returned = typing.get_type_hints(getattr(incrowd, verb))["return"]
        for kind in typing.get_args(returned) or (returned,):
            if getattr(kind, "__module__", "").startswith("incrowd"):
                found[f"{kind.__module__}.{kind.__qualname__}"] = None
    return list(found)


def _directive(name: str, of: str, *options: str) -> str:
    lines = [f".. {name}:: {of}", *(f"   :{option}" + ("" if ":" in option else ":") for option in options)]
    return "```{eval-rst}\n" + "\n".join(lines) + "\n```\n"


# Keys of a policy, from the model


def schema_page() -> str:
    """Every key of a policy, with its type and default, from the model that checks policies."""
    schema = Policy.json_schema()
    told = [
        "# Keys of a policy\n",
        "Made from the model that checks policies; the same as a file for editors: "
        "[policy.schema.json](../policy.schema.json). What the keys mean, with examples: [the policy](../policy.md).\n",
        "## The file\n",
        _keys(schema),
    ]
    for name, part in schema["$defs"].items():
        about = " ".join(str(part.get("description", "")).split())
        told += [f"## {name}\n", about + "\n" if about else "", _keys(part)]
    return "\n".join(told)


def _keys(part: Schema) -> str:
    needed = part.get("required", ())
    rows = (
        (f"`{key}`", kind(said), _default(said, key in needed), str(said.get("description", "")))
        for key, said in part["properties"].items()
    )
    return table(("key", "type", "default", ""), rows)


def kind(said: Schema) -> str:
    """A type of JSON Schema in words."""
    if "$ref" in said:
        name = said["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in said:
        kinds = [kind(each) for each in said["anyOf"]]
        return " or ".join(dict.fromkeys(each for each in kinds if each != "nothing"))
    if "enum" in said:
        return ", ".join(f"`{value}`" for value in said["enum"])
    if "const" in said:
        return f"`{said['const']}`"
    if said.get("type") == "array":
        return f"list of {kind(said['items'])}" if said.get("items") else "list"
    if said.get("type") == "object":
        values = said.get("additionalProperties")
        return f"table of {kind(values)}" if isinstance(values, dict) else "table"
    words = {
        "string": "text",
        "integer": "whole number",
        "number": "number",
        "boolean": "true or false",
        "null": "nothing",
    }
    return words.get(str(said.get("type")), "any value")


def _default(said: Schema, needed: bool) -> str:
    if needed:
        return "must be given"
    value = said.get("default")
    return (
        ""
        if value is None or isinstance(value, dict)
        else f"`{value}`".replace("True", "true").replace("False", "false")
    )
