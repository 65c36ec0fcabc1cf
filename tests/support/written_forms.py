"""The forms in which a release is written."""

from __future__ import annotations

from incrowd.publishing.pipeline import Form

FORMS = {"csv": Form(), "parquet": Form("parquet"), "typed": Form("parquet", typed=True)}
