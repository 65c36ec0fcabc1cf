"""Rows that say how many people of their class are private: right ones are accepted, spoilt ones are not."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path

import pytest
from forgeries.join_presence import CHECK, PRESENCE_FORGERIES, Spoiler
from publishing.test_join import write

from incrowd.commands.publish import publish
from incrowd.commands.verify import verify
from incrowd.errors import Exposure
from incrowd.policy import Policy
from incrowd.schema import Verdict


@pytest.fixture
def made(tmp_path: Path) -> Path:
    table, policy = write(tmp_path, own=60, others=400)
    publish(table, Policy.load(policy), output=tmp_path / "out")
    return tmp_path


def verified(folder: Path) -> Verdict:
    return verify(folder / "out", folder / "private.csv", folder / "policy.toml")


def spoil(folder: Path, spoiler: Spoiler) -> None:
    data, manifest = folder / "out" / "data.csv", folder / "out" / "release.json"
    with data.open(encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    spoiler(rows, names)
    with data.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\r\n" if b"\r\n" in data.read_bytes() else "\n").writerows(
            [names, *rows]
        )
    content = data.read_bytes()
    said = json.loads(manifest.read_text(encoding="utf-8"))
    said["files"]["data.csv"] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    manifest.write_text(json.dumps(said), encoding="utf-8")


def test_a_release_is_accepted(made: Path) -> None:
    verdict = verified(made)
    assert verdict.passed
    assert CHECK in verdict.required
    assert "/" in str(verdict.facts["reached"][CHECK])


@pytest.mark.parametrize("name", PRESENCE_FORGERIES)
def test_no_forgery_is_accepted(made: Path, name: str) -> None:
    caught_by, spoiler = PRESENCE_FORGERIES[name]
    spoil(made, spoiler)
    verdict = verified(made)
    assert not verdict.passed
    assert caught_by in [check.name for check in verdict.failures]


@pytest.mark.parametrize(
    "claimed", [{"most": "0.01"}, {"certain": "maybe"}, {"k": 50}, {"k": 5.0}, {"most": 1}]
)
def test_a_claim_that_is_not_kept_is_rejected(made: Path, claimed: dict[str, object]) -> None:
    manifest = made / "out" / "release.json"
    said = json.loads(manifest.read_text(encoding="utf-8"))
    next(claim for claim in said["claims"] if claim["model"] == CHECK)["parameters"] |= claimed
    manifest.write_text(json.dumps(said), encoding="utf-8")
    verdict = verify(made / "out", made / "private.csv", None, public=made / "public.csv")
    assert not verdict.passed


def test_everybody_must_be_in_the_public_table(made: Path) -> None:
    """Whoever verifies it against a list that lacks somebody sees that the join was not blind."""
    listed = (made / "public.csv").read_text(encoding="utf-8").splitlines()
    own = {line.split(",")[0] for line in (made / "private.csv").read_text(encoding="utf-8").splitlines()[1:]}
    kept = [line for line in listed if line.split(",")[1] != min(own)]
    assert len(kept) == len(listed) - 1
    public = made / "public.csv"
    public.write_text("\n".join(kept) + "\n", encoding="utf-8")
    manifest = made / "out" / "release.json"
    said = json.loads(manifest.read_text(encoding="utf-8"))
    said["public"] |= {"rows": len(kept) - 1, "sha256": hashlib.sha256(public.read_bytes()).hexdigest()}
    manifest.write_text(json.dumps(said), encoding="utf-8")
    with pytest.raises(Exposure, match="must surely be in the public table"):
        verified(made)
