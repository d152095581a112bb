"""One file of a data set on a hub, fetched to its end however often that is interrupted.

The hub's client fetches, tries again and shows progress; but what it has fetched of a file is lost with its
process. So the part lies in a file of ours until it is whole, and its digest is that of the hub.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from huggingface_hub import (
    get_hf_file_metadata,  # pyright: ignore[reportUnknownVariableType] # a bare dict in its signature
    hf_hub_url,
)
from huggingface_hub.file_download import (
    http_get,  # pyright: ignore[reportUnknownVariableType]
)
from huggingface_hub.utils import (  # type: ignore[attr-defined] # documented, but loaded late
    build_hf_headers,  # pyright: ignore[reportUnknownVariableType]
)

_LFS_DIGEST, _GIT_DIGEST = 64, 40
"""Hexadecimal digits of the digests that a hub names its files by: SHA-256, or git's SHA-1 of small files."""


class WrongContent(Exception):
    """What was fetched is not what the hub has."""


class AnotherFetch(Exception):
    """Somebody else fetches the same file to the same place."""


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a data set at one commit."""

    repository: str
    commit: str
    name: str
    endpoint: str | None

    def fetch(self, folder: Path) -> None:
        """Fetch the file into `folder`, unless it is there. What was fetched of it before is kept.

        Raises:
            WrongContent: twice something else came than the hub has.
            AnotherFetch: somebody else is at it.
            Exception: whatever the hub's client raises.
        """
        url = hf_hub_url(
            self.repository, self.name, repo_type="dataset", revision=self.commit, endpoint=self.endpoint
        )
        headers = build_hf_headers()
        found = get_hf_file_metadata(url, headers=headers, endpoint=self.endpoint)
        digest = found.etag or ""
        target = folder / self.name
        if target.is_file() and target.stat().st_size == found.size and _is_whole(target, digest):
            return
        if urlsplit(found.location).netloc != urlsplit(url).netloc:
            headers.pop("authorization", None)  # a signed URL of some storage: not for the hub's token
        with _part(folder / f".{self.name}.{digest[:16]}.part") as (path, part):
            self._complete(found.location, part, headers, found.size)
            if not _is_whole(path, digest):
                part.truncate(0)
                self._complete(found.location, part, headers, found.size)
            if not _is_whole(path, digest):
                part.truncate(0)
                raise WrongContent(
                    f"{self.name}: what arrived has another digest than the hub says: {digest}"
                )
            os.replace(path, target)

    def _complete(self, url: str, part: BinaryIO, headers: dict[str, str], size: int | None) -> None:
        there = part.seek(0, os.SEEK_END)
        if size is not None and there > size:
            there = part.truncate(0)
        http_get(
            url,
            part,
            resume_size=there,
            headers=headers,
            expected_size=size,
            displayed_filename=self.name,
        )
        part.flush()


@contextmanager
def _part(path: Path) -> Generator[tuple[Path, BinaryIO]]:
    """The part of a file, opened for us alone. What it was replaced with, or has not become, stays."""
    with path.open("ab") as part:
        try:
            fcntl.flock(part, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise AnotherFetch(f"{path.name} is being fetched by another process") from error
        yield path, part


def _is_whole(path: Path, digest: str) -> bool:
    """Whether a file has the digest; True where the hub gives none that we know."""
    with path.open("rb") as file:
        if len(digest) == _LFS_DIGEST:
            return hashlib.file_digest(file, "sha256").hexdigest() == digest
        if len(digest) == _GIT_DIGEST:
            head = hashlib.sha1(f"blob {path.stat().st_size}\0".encode())
            return hashlib.file_digest(file, lambda: head).hexdigest() == digest
    return True
