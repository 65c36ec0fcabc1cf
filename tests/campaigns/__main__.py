"""Run campaigns: ``python tests/campaigns --seed 1 --state campaigns.json --page figures.md [--only NAME]``.

Stopped, it goes on from its state file. At the end it writes one page of figures, and its exit code is 1 if
there was a fault that is not known to be open.
"""

from __future__ import annotations

import argparse
import secrets
import sys
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from campaigns import every
from campaigns.campaign import Campaign, State, run
from campaigns.page import page


def seed_of(campaign: Campaign, state: State, count: int) -> int:
    """That of a run that goes on; else the day's, so that nights differ, or one that nobody could choose."""
    begun = state.unfinished(campaign.name, count)
    if begun is not None:
        return begun
    return secrets.randbits(32) if campaign.fresh else int(datetime.now(UTC).strftime("%Y%m%d"))


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Campaigns against incrowd: seeded, and resumed where they stopped."
    )
    parser.add_argument(
        "--seed",
        type=int,
        help="if left out, that of a run that goes on, or the day; for unseen tables a new one",
    )
    parser.add_argument("--state", type=Path, default=Path("campaigns.json"))
    parser.add_argument("--page", type=Path, help="where to write the figures; standard output if left out")
    parser.add_argument("--only", choices=sorted(every.CAMPAIGNS), action="append")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the cases of a night")
    words = parser.parse_args()
    state, found = State(words.state), {}
    for name, campaign in every.CAMPAIGNS.items():
        if words.only and name not in words.only:
            continue
        count = max(1, round(words.scale * campaign.nightly))
        seed = words.seed if words.seed is not None else seed_of(campaign, state, count)
        sys.stderr.write(f"{name}: --seed {seed}\n")
        found[name] = run(campaign, count, seed, state, shown=True)
    text = page(found, datetime.now(UTC).date().isoformat())
    if words.page is None:
        sys.stdout.write(text)
    else:
        words.page.write_text(text, encoding="utf-8")
    return int(any(progress.unexplained() for progress in found.values()))


if __name__ == "__main__":
    sys.exit(main())
