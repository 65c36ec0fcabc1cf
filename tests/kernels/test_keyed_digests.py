"""Digests of many texts at once are those of the standard library, text for text."""

from __future__ import annotations

import hashlib
import hmac

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from incrowd.kernels.keyed_digests import BEGIN, LANES, LONGEST, ROUND, keyed_digests
from incrowd.release import ledger
from incrowd.release.ledger import Head


def naive(key: bytes, text: bytes) -> tuple[int, int]:
    found = hmac.new(key, text, hashlib.sha256).digest()
    return int.from_bytes(found[:8], "big"), int.from_bytes(found[8:16], "big")


def by_kernel(key: bytes, texts: list[bytes]) -> list[tuple[int, int]]:
    found = np.empty((len(texts), 2), np.uint64)
    ends = np.cumsum([len(text) + 1 for text in texts]) - 1
    flat = np.frombuffer(b"\0".join(texts), np.uint8)
    keyed_digests(np.frombuffer(key.ljust(64, b"\0"), np.uint8), flat, ends, found)
    return [(int(high), int(low)) for high, low in found]


@given(st.binary(max_size=64), st.lists(st.binary(max_size=LONGEST), min_size=1, max_size=20))
def test_as_the_standard_library(key: bytes, texts: list[bytes]) -> None:
    assert by_kernel(key, texts) == [naive(key, text) for text in texts]


@pytest.mark.parametrize("many", [LANES - 1, LANES, LANES + 1, 2 * LANES + 3])
def test_every_length_in_every_lane(many: int) -> None:
    texts = [bytes((7 * place + at) % 251 for at in range(place % (LONGEST + 1))) for place in range(many)]
    assert by_kernel(b"key", texts) == [naive(b"key", text) for text in texts]


def test_constants_are_those_of_the_standard() -> None:
    assert [hex(BEGIN[0]), hex(BEGIN[7])] == ["0x6a09e667", "0x5be0cd19"]
    assert [hex(ROUND[0]), hex(ROUND[63])] == ["0x428a2f98", "0xc67178f2"]


@pytest.mark.parametrize(
    "strange", ["", "é" * 27, "x" * LONGEST, "x" * (LONGEST + 1), "a\0b", "\N{GRINNING FACE}"]
)
def test_a_ledger_digests_many_ids_as_it_does_one(strange: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "WORTH_COMPILED", 2)
    head, ids = Head.first(3, 1), ["a", strange, "b"]
    together = [f"{int(high):016x}{int(low):016x}" for high, low in head.halves(ids)]
    assert together == [head.digest(each) for each in ids]
    assert head.halves(["a"]).tolist() == head.halves(ids)[:1].tolist()
