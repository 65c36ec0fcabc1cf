"""What values look like: right check digits are recognised, wrong ones and other numbers are not."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.roles_by_hand import invented

from incrowd.commands.inspect.check_digits import is_a_card, is_an_iban, is_national
from incrowd.commands.inspect.patterns import is_a_drug, pattern_of


def looks(texts: list[str]) -> str | None:
    found = pattern_of(texts)
    return found and found.name


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        (["DE89 3704 0044 0532 0130 00", "GB29NWBK60161331926819", "FR1420041010050500013M02606"], "iban"),
        (["10.0.0.1", "192.168.1.20", "2001:db8::1"], "ip"),
        (["+49 30 1234567", "(030) 123 4567", "030 1234 567", "555-123-4567", "+1 555 123 4567"], "phone"),
        (["E11.9", "I10", "J45.0", "C50.9", "F32.1"], "icd-10"),
        (["A10BA02", "C07AB02", "N02BE01"], "atc"),
        (["metformin", "lisinopril", "atorvastatin"], "drug"),
        (["$1,200", "$ 30.50", "-$5"], "currency"),
        (["1.200 €", "30,50 EUR", "5 €"], "currency"),
        (["(43.65, -79.38)", "(43.70, -79.40)", "(44.0, -78.1)"], "position"),
        (["20 to 29 Years", "30 to 39 Years", "40 to 49 Years", "50 to 59 Years"], "age band"),
        (["M", "F"], "sex"),
        (["red", "green", "blue"], None),
        (["2024-01-01", "2024-01-02", "2024-01-03", "2023-12-31", "2020-02-02"], None),
        (["A001", "A002", "A003", "A004", "A005"], None),  # a product, with one letter only
        (["1-3", "4-6", "7-9", "10-12"], None),
        ([str(i) for i in range(100_000, 100_050)], None),
        (["250", "401", "428"] * 9, None),
    ],
)
def test_patterns(texts: list[str], name: str | None) -> None:
    assert looks(texts) == name


@pytest.mark.parametrize(
    "number",
    ["943 476 5919", "111222333", "12345678Z", "X1234567L", "756.9217.0769.85", "86095742719", "123-45-6789",
     "RSSMRA85T10A562S", "QQ123456C".replace("QQ", "AB"), "1 84 12 76 451 089 46"],
)  # fmt: skip
def test_national_numbers(number: str) -> None:
    assert is_national(number)


@settings(deadline=None)
@given(st.sampled_from(["bsn", "nhs", "dni", "iban", "card"]), st.integers(0, 10**6), st.data())
def test_a_digit_that_is_changed_is_noticed(kind: str, seed: int, data: st.DataObject) -> None:
    fits = {"iban": is_an_iban, "card": is_a_card}.get(kind, is_national)
    good = invented(f"seed {seed}", kind)[0]
    assert fits(good)
    place = data.draw(st.sampled_from([i for i, char in enumerate(good) if char.isdecimal()]))
    other = data.draw(st.sampled_from([d for d in "0123456789" if d != good[place]]))
    bad = good[:place] + other + good[place + 1 :]
    checks = {"bsn": 9, "nhs": 10}
    assert not fits(bad) or (kind in checks and _another_country(bad, checks[kind]))


def _another_country(text: str, length: int) -> bool:
    """Wrong in one country, right by chance in another: these have other lengths or letters."""
    return len(text) != length


def test_random_numbers_are_no_national_numbers() -> None:
    dice = Random(5)
    for length in (8, 9, 10, 11, 13, 15, 16):
        assert looks(["".join(dice.choice("0123456789") for _ in range(length)) for _ in range(300)]) is None


def test_names_of_drugs() -> None:
    assert all(map(is_a_drug, ("metformin", "Glyburide-Metformin", "omeprazole", "insulin")))
    assert not any(map(is_a_drug, ("person", "reason", "april", "statin", "", "control", "season")))
