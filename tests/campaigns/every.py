"""All campaigns, in the order in which they are run."""

from __future__ import annotations

from campaigns.broken import BROKEN
from campaigns.canaries import CANARIES
from campaigns.forged import FORGED
from campaigns.hostile import HOSTILE
from campaigns.mutation_campaign import MUTANTS
from campaigns.round_trips import ROUND_TRIPS

CAMPAIGNS = {
    campaign.name: campaign for campaign in (ROUND_TRIPS, FORGED, BROKEN, CANARIES, HOSTILE, MUTANTS)
}
