"""All campaigns, in the order in which they are run."""

from __future__ import annotations

from campaigns.bounds import BOUNDS
from campaigns.broken import BROKEN
from campaigns.canaries import CANARIES
from campaigns.candidates import CANDIDATES
from campaigns.engines import ENGINE_TABLES, SPARK_TABLES
from campaigns.forged import FORGED
from campaigns.forged_parquet import FORGED_PARQUET
from campaigns.holdout import HOLDOUT
from campaigns.hostile import HOSTILE
from campaigns.mutation_campaign import MUTANTS
from campaigns.round_trips import ROUND_TRIPS

CAMPAIGNS = {
    campaign.name: campaign
    for campaign in (
        *(ROUND_TRIPS, FORGED, FORGED_PARQUET, BROKEN, CANARIES, HOSTILE),
        *(BOUNDS, CANDIDATES, HOLDOUT, ENGINE_TABLES, SPARK_TABLES, MUTANTS),
    )
}
