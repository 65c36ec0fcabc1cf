"""Roles labelled by hand, and how suggested ones compare with them."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from random import Random
from string import ascii_lowercase, ascii_uppercase

from support.places import ROOT

from incrowd.commands.inspect.vocabulary import word_list
from incrowd.schema import Role

GOLDEN = ROOT / "tests" / "golden"
ROWS = 400
LETTERS = {
    "I": (Role.IDENTIFIER, Role.ENTITY),
    "Q": (Role.QUASI,),
    "S": (Role.SENSITIVE,),
    "K": (Role.KEEP,),
    "D": (Role.DROP,),
    "U": (Role.UNDECIDED,),
}


@dataclass(frozen=True)
class Judged:
    """One column: the letters by hand, the best first, and the role that was suggested."""

    name: str
    letters: str
    role: Role

    @property
    def right(self) -> bool:
        return any(self.role in LETTERS[letter] for letter in self.letters)

    @property
    def known_but_raw(self) -> bool:
        """Would what outsiders know, or what names a person, be published as it is?"""
        shown = self.role in (Role.SENSITIVE, Role.KEEP)
        return shown and not self.right and self.letters[0] in "IQ"


@dataclass(frozen=True)
class Scores:
    """What suggested roles are worth, as counts: right ones, and of how many."""

    quasi: tuple[int, int]
    known: tuple[int, int]
    sensitive: tuple[int, int]
    identifiers: tuple[int, int]
    raw: tuple[int, int]
    undecided: int
    wrong: tuple[str, ...]

    @classmethod
    def of(cls, judged: Iterable[Judged]) -> Scores:
        """Recall is of columns with one right role only."""
        every = list(judged)
        suggested = [one for one in every if one.role is Role.QUASI]

        def found(letter: str) -> tuple[int, int]:
            gold = [one for one in every if one.letters == letter]
            return sum(one.right for one in gold), len(gold)

        return cls(
            (sum(one.right for one in suggested), len(suggested)),
            found("Q"),
            found("S"),
            found("I"),
            (sum(one.known_but_raw for one in every), sum(one.letters[0] in "IQ" for one in every)),
            sum(one.role is Role.UNDECIDED for one in every),
            tuple(f"{one.name}: {one.role}, not {one.letters}" for one in every if not one.right),
        )


def tables_by_hand() -> dict[str, dict[str, str]]:
    """The letters of every column, by table."""
    read = tomllib.loads((GOLDEN / "table_roles.toml").read_text(encoding="utf-8"))
    return {name: {column: said.replace(" ", "") for column, said in f.items()} for name, f in read.items()}


def names_by_hand() -> Iterator[tuple[str, list[str], str]]:
    """Column names, invented values of the kind that is said, and letters."""
    lines = (GOLDEN / "column_names.txt").read_text(encoding="utf-8").splitlines()
    for line in lines:
        if line and not line.startswith("#"):
            name, kind, letters = (part.strip() for part in line.split("|"))
            yield name, invented(name, kind), letters.replace(",", "")


def wide_tables() -> dict[str, list[tuple[str, list[str], str]]]:
    """Tables as people export them, by name: their columns with invented values, and letters."""
    found: dict[str, list[tuple[str, list[str], str]]] = {}
    columns: list[tuple[str, list[str], str]] = []
    for line in (GOLDEN / "wide_tables.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            columns = found.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            name, kind, letters = (part.strip() for part in line.split("|"))
            columns.append((name, invented(name, kind), letters.replace(",", "")))
    return found


def invented(name: str, said: str) -> list[str]:
    """Values of a kind, the same ones at every run."""
    dice = Random(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]))
    kind, *words = said.split()
    return [_one(kind, words, row, dice) for row in range(ROWS)]


FIRST = word_list("Ada Ben Cleo Dora Emil Fay Gus Hana Ivo Jun Kai Lea Max Nora Otto Pia Rosa Sam Tess Uwe")
LAST = word_list("Abel Brandt Costa Duval Egger Fabre Greco Huber Ilic Jansen Keller Lopez Meyer Novak")
CITIES = word_list("Bern Lyon Turin Graz Porto Ghent Leeds York Bath Nancy Ulm Kiel Oviedo Parma Breda Linz")
DRUGS = word_list("metformin lisinopril atorvastatin omeprazole amoxicillin sertraline losartan diazepam")
SENTENCES = (
    "the caller reported that the parcel never arrived and asked for a refund twice",
    "nothing to add to what was said before except that the stairs were wet",
    "has moved since and would like letters to go there",
)


def _one(kind: str, words: list[str], row: int, dice: Random) -> str:
    pick, number = dice.choice, dice.randrange

    def digits(count: int) -> str:
        return "".join(pick("0123456789") for _ in range(count))

    def day(first: int, last: int) -> str:
        return f"{number(first, last)}-{number(1, 13):02}-{number(1, 29):02}"

    simple: dict[str, Callable[[], str]] = {
        "id": lambda: str(100_000 + 37 * row + number(30)),
        "person": lambda: f"{pick(FIRST)} {pick(LAST)}-{pick(LAST)}",
        "email": lambda: f"{pick(FIRST).lower()}{row}@example.org",
        "phone": lambda: f"+49 {digits(3)} {digits(7)}",
        "url": lambda: f"https://example.org/u/{row}",
        "ip": lambda: f"10.{number(256)}.{number(256)}.{number(256)}",
        "iban": lambda: _iban(digits(18)),
        "card": lambda: _luhn("4" + digits(14)),
        "code16": lambda: "".join(pick(ascii_uppercase) for _ in range(6)) + digits(10),
        "code9": lambda: "".join(pick(ascii_uppercase) for _ in range(2)) + digits(7),
        "dni": lambda: _dni(number(10**8)),
        "bsn": lambda: _checked(dice, 9, (9, 8, 7, 6, 5, 4, 3, 2, -1)),
        "nhs": lambda: _checked(dice, 10, (10, 9, 8, 7, 6, 5, 4, 3, 2, 1)),
        "hash": lambda: hashlib.sha256(f"{row}".encode()).hexdigest()[:32],
        "login": lambda: pick(FIRST).lower() + "".join(pick(ascii_lowercase) for _ in range(4)) + str(row),
        "address": lambda: f"{number(1, 99)} {pick(LAST)} street",
        "agegroup": lambda: pick(["0-19", "20-39", "40-59", "60-79", "80+"]),
        "birthdate": lambda: day(1930, 2010),
        "date": lambda: day(2021, 2024),
        "day.month.year": lambda: f"{number(1, 29):02}.{number(1, 13):02}.{number(2021, 2024)}",
        "born.german": lambda: f"{number(1, 29):02}.{number(1, 13):02}.{number(1935, 2005)}",
        "month/day/year": lambda: f"{number(1, 13)}/{number(1, 29)}/{number(2021, 2024)}",
        "moment": lambda: f"{day(2021, 2024)} {number(24):02}:{number(60):02}:{number(60):02}",
        "moment.am": lambda: f"{number(1, 13):02}/{number(1, 29):02}/2023 {number(1, 13)}:{number(60):02} AM",
        "zoned": lambda: f"{day(2021, 2024)}T{number(24):02}:{number(60):02}:00+0{number(1, 3)}:00",
        "ops": lambda: f"{number(1, 9)}-{number(10, 16)}0.{number(3)}",
        "euro": lambda: f"{number(1, 5)}.{number(10) * 100:03},50",
        "comma": lambda: f"{number(5, 60)},{number(10)}",
        "answer": lambda: pick(["-9", "-8", *"1234512345"]),
        "weight": lambda: f"{0.4 + dice.random():.3f}"[:4],
        "code": lambda: f"S{row + 10_000}",
        "several": lambda: f"K{row // 2 + 500}",
        "city": lambda: pick(CITIES),
        "zip5": lambda: str(number(10_000, 99_950)),
        "plz": lambda: f"{number(1_000, 99_950):05}",
        "plz2": lambda: f"{number(1, 96):02}",
        "uk": lambda: f"{pick(['SW', 'M', 'LS'])}{number(1, 20)} {number(1, 9)}{pick('ABDE')}{pick('GHJ')}",
        "fsa": lambda: f"{pick('MKLN')}{number(1, 9)}{pick('ABCEGHJ')}",
        "tract": lambda: f"{number(1, 60):02}{number(1, 9)}0{number(1, 9)}",
        "lat": lambda: f"{40 + dice.random():.5f}",
        "lon": lambda: f"{-79 - dice.random():.5f}",
        "icd10": lambda: f"{pick('ACEFIJKMNR')}{number(10, 99)}.{number(10)}",
        "atc": lambda: f"{pick('ACNR')}{number(1, 12):02}{pick('ABC')}{pick('ABX')}{number(1, 20):02}",
        "drug": lambda: pick(DRUGS),
        "money": lambda: str(number(10, 90) * 1_000),
        "currency": lambda: f"€ {number(10, 90) * 100}",
        "text": lambda: f"{pick(SENTENCES)} {row}",
        "empty": lambda: "",
        "const": lambda: "pilot",
    }  # fmt: skip
    if kind == "cat":
        return pick(words)
    if kind in ("int", "year"):
        return str(number(int(words[0]), int(words[1]) + 1))
    if kind == "dec":
        return f"{float(words[0]) + dice.random() * (float(words[1]) - float(words[0])):.1f}"
    return simple[kind]()


def _iban(account: str) -> str:
    return f"DE{98 - int(account + '131400') % 97:02}{account}"


def _luhn(front: str) -> str:
    doubled = [sum(divmod(2 * int(digit), 10)) for digit in front[::-2]]
    return f"{front}{-(sum(doubled) + sum(map(int, front[-2::-2]))) % 10}"


def _dni(number: int) -> str:
    return f"{number:08}{'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23]}"


def _checked(dice: Random, length: int, weights: tuple[int, ...]) -> str:
    while True:
        front = [dice.randrange(10) for _ in range(length - 1)]
        last = -sum(w * d for w, d in zip(weights, front, strict=False)) * weights[-1] % 11
        if last < 10 and any(front):
            return "".join(map(str, [*front, last]))
