"""A DataFrame of Spark published without a folder: a verified DataFrame comes back."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile, rmtree
from tempfile import mkdtemp
from typing import Any

from incrowd.engines.resources import Resources
from incrowd.errors import InputError
from incrowd.long_work import Watch, held, unwatched
from incrowd.policy import Policy
from incrowd.publishing.large import LargeRelease, publish_large
from incrowd.publishing.pipeline import Form
from incrowd.release.stage import commit, stage


@dataclass(frozen=True, eq=False, repr=False)
class FrameRelease(LargeRelease):
    """A verified release whose files are in a folder of their own, as long as this object is there."""

    def to_dict(self) -> dict[str, Any]:
        found = super().to_dict()
        return {key: said for key, said in found.items() if key not in ("release", "audit")}

    def write(self, folder: str | Path, *form: object, **words: object) -> Path:
        """Copy the verified files, which are Parquet, and the private audit beside them."""
        if {*form, words.get("format", "parquet")} != {"parquet"} or words.get("typed"):
            raise InputError("a release that Spark made is written as Parquet, in texts")
        destination, replace = Path(folder), bool(words.get("replace"))
        with stage(destination, replace) as staged:
            for source, target in ((self.folder, staged / "release"), (self.audit, staged / "audit")):
                for path in sorted(source.rglob("*")):
                    place = target / path.relative_to(source)
                    place.mkdir(exist_ok=True) if path.is_dir() else copyfile(path, place)
            with held():
                commit(staged, destination, replace)
        return destination


def publish_frame(
    source: object,
    policy: Policy,
    resources: Resources,
    watch: Watch = unwatched,
    public: object = None,
    check: object = None,
) -> FrameRelease:
    """Anonymize a DataFrame of Spark and verify the result, in a folder that goes with the result."""
    place = Path(mkdtemp(prefix="incrowd-"))
    try:
        form = Form("parquet")
        made = publish_large(source, policy, place / "release", form, resources, watch, public, check)
    except BaseException:
        rmtree(place, ignore_errors=True)
        raise
    found = FrameRelease(made.verdict, made._draft, made.manifest, made.folder, made.blocks, made.engine)
    weakref.finalize(found, rmtree, place, ignore_errors=True)
    return found
