"""Numbers that carry their own check: bank accounts, payment cards, national numbers of persons."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence


def _digits(text: str) -> str:
    return re.sub(r"[ .\-/]", "", text)


def _luhn(text: str) -> bool:
    """Payment cards, Canadian and Swedish numbers: every second digit doubled, the sum a multiple of ten."""
    digits = _digits(text)
    if not (digits.isascii() and digits.isdecimal() and len(set(digits)) > 1):
        return False
    doubled = [sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2]]
    return (sum(map(int, digits[-1::-2])) + sum(doubled)) % 10 == 0


def is_a_card(text: str) -> bool:
    return 14 <= len(_digits(text)) <= 16 and _luhn(text)


def is_an_iban(text: str) -> bool:
    """The country, two check digits, the account: the whole leaves 1 when divided by 97."""
    bare = text.replace(" ", "").upper()
    if not re.fullmatch(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}", bare):
        return False
    return int("".join(str(int(char, 36)) for char in bare[4:] + bare[:4])) % 97 == 1


def _weighted(text: str, weights: Sequence[int], modulus: int, length: int) -> bool:
    digits = _digits(text)
    if not (digits.isascii() and digits.isdecimal() and len(digits) == length and len(set(digits)) > 1):
        return False
    return sum(w * int(d) for w, d in zip(weights, digits, strict=True)) % modulus == 0


def _nhs(text: str) -> bool:
    """England: ten digits, the last one checks the others (modulus 11)."""
    return _weighted(text, (10, 9, 8, 7, 6, 5, 4, 3, 2, 1), 11, 10)


def _bsn(text: str) -> bool:
    """The Netherlands: nine digits, the eleven test with the last one subtracted."""
    return _weighted(text, (9, 8, 7, 6, 5, 4, 3, 2, -1), 11, 9)


def _dni(text: str) -> bool:
    """Spain: eight digits, or X, Y, Z and seven, and the letter of the remainder by 23."""
    found = re.fullmatch(r"([XYZ]?)([0-9]{7,8})-?([A-Z])", text.upper())
    if found is None or len(found[1] + found[2]) != 8:
        return False
    number = int(("0" if not found[1] else str("XYZ".index(found[1]))) + found[2])
    return "TRWAGMYFPDXBNJZSQVHLCKE"[number % 23] == found[3]


def _nir(text: str) -> bool:
    """France: thirteen digits, and 97 less their remainder by 97; Corsica writes letters."""
    found = re.fullmatch(r"([1-478][0-9]{4}(?:[0-9]{2}|2A|2B)[0-9]{6})([0-9]{2})", _digits(text).upper())
    if found is None:
        return False
    number = int(found[1].replace("2A", "19").replace("2B", "18"))
    return 97 - number % 97 == int(found[2])


def _ahv(text: str) -> bool:
    """Switzerland: thirteen digits that begin with 756, checked as an article number."""
    digits = _digits(text)
    return digits.startswith("756") and _weighted(digits, (1, 3) * 6 + (1,), 10, 13)


def _steuer_id(text: str) -> bool:
    """Germany: eleven digits, the last one checks the others (modulus 11, 10)."""
    digits = _digits(text)
    if not re.fullmatch(r"[1-9][0-9]{10}", digits):
        return False
    product = 10
    for digit in digits[:10]:
        total = (int(digit) + product) % 10 or 10
        product = 2 * total % 11
    return (11 - product) % 10 == int(digits[10])


_ODD_PLACES = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
_ODD = {char: _ODD_PLACES[i] for i, char in enumerate("0123456789")} | {
    char: _ODD_PLACES[i] for i, char in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
}


def _codice_fiscale(text: str) -> bool:
    """Italy: letters of the names, date and place of birth, and a letter that checks them."""
    code = text.upper()
    if not re.fullmatch(r"[A-Z]{6}[0-9LMNP-V]{2}[A-EHLMPRST][0-9LMNP-V]{2}[A-Z][0-9LMNP-V]{3}[A-Z]", code):
        return False
    even = sum(int(char, 36) - 10 if char.isalpha() else int(char) for char in code[1:15:2])
    return chr(65 + (even + sum(_ODD[char] for char in code[0:15:2])) % 26) == code[15]


def _ssn(text: str) -> bool:
    """The United States, written with its hyphens; some numbers are never given."""
    found = re.fullmatch(r"([0-9]{3})-([0-9]{2})-([0-9]{4})", text)
    return found is not None and found[1] not in ("000", "666") and found[2] != "00" and found[3] != "0000"


def _nino(text: str) -> bool:
    """The United Kingdom: two letters, six digits, a letter."""
    bare = text.replace(" ", "").upper()
    return re.fullmatch(r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z][0-9]{6}[A-D]", bare) is not None


NATIONAL: tuple[Callable[[str], bool], ...] = (
    _nhs,
    _bsn,
    _dni,
    _nir,
    _ahv,
    _steuer_id,
    _codice_fiscale,
    _ssn,
    _nino,
)


def is_national(text: str) -> bool:
    """Is it a national number of some country?

    Examples
    --------
    >>> is_national("943 476 5919"), is_national("943 476 5918")
    (True, False)
    """
    return any(fits(text) for fits in NATIONAL)
