"""`subworlds fetch-awm`: the AWM data set from a Hugging Face hub, resumed where it was interrupted."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import HfApi
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from ..scenarios.awm.names import FILES, REQUIRED
from .failure import BadInput, CommandFailed
from .hub_file import HubFile
from .screen import counted

_WANTED = (*FILES, "README.md", "LICENSE*")
"""What is fetched: the files that are read, and what the data set says of itself."""


@dataclass(frozen=True, slots=True)
class FetchOptions:
    """What to fetch, from where, to where."""

    out: Path
    repository: str
    """Id of a data set, such as `owner/name`."""
    revision: str = "main"
    """A branch, a tag or a commit."""
    endpoint: str | None = None
    """URL of the hub; None: Hugging Face's own."""


def fetch_awm(options: FetchOptions) -> None:
    """Fetch the data set. Asked again, fetch what is missing or has changed, partly fetched files from where
    they broke off.

    Raises:
        BadInput: there is no such data set or revision, it is not of this kind, or `out` is no folder.
        CommandFailed: the hub cannot be reached, or the connection broke.
    """
    if options.out.exists() and not options.out.is_dir():
        raise BadInput(f"{options.out}: is no folder")
    commit, names = _find_files(options)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        for name in names:
            HubFile(options.repository, commit, name, options.endpoint).fetch(options.out)
    except Exception as error:  # of several libraries: the hub's, its HTTP client's, the system's
        raise CommandFailed(
            f"{options.repository} was not fetched to its end: {_told(error)}\n"
            "Run the same command again: it goes on where it broke off."
        ) from error
    print(f"{_summary(options.out, names)}, of {options.repository} at {commit[:12]}")
    print(f"Serve it with: subworlds serve --pack {options.out}")


def _find_files(options: FetchOptions) -> tuple[str, list[str]]:
    """The commit that is meant, and the names of its files that are wanted."""
    hub, name = HfApi(endpoint=options.endpoint), options.repository
    try:
        info = hub.dataset_info(name, revision=options.revision)
    except GatedRepoError as error:
        raise BadInput(f"{name} is for members only: log in with `hf auth login`") from error
    except RevisionNotFoundError as error:
        raise BadInput(f"{name} has no revision {options.revision!r}") from error
    except RepositoryNotFoundError as error:
        raise BadInput(f"{hub.endpoint} has no data set {name!r}, or none that you may read") from error
    except HFValidationError as error:
        raise BadInput(f"--repo: {error}") from error
    except HfHubHTTPError as error:
        raise CommandFailed(f"{hub.endpoint} answers: {_told(error)}") from error
    except Exception as error:  # whatever its HTTP client raises where nobody answers
        raise CommandFailed(
            f"the hub at {hub.endpoint} cannot be reached: {_told(error)}\n"
            "Set HF_ENDPOINT for another hub, and HTTPS_PROXY for a proxy."
        ) from error
    held = [file.rfilename for file in info.siblings or ()]
    missing = [file for file in REQUIRED if file not in held]
    if missing or info.sha is None:
        raise BadInput(f"{name} is no AWM data set: it has no {', '.join(missing)}")
    return info.sha, [name for name in held if any(fnmatch.fnmatch(name, wanted) for wanted in _WANTED)]


def _summary(out: Path, names: list[str]) -> str:
    size = sum((out / name).stat().st_size for name in names)
    return f"{counted(len(names), 'file')}, {size / 1e6:.1f} MB in {out}"


def _told(error: Exception) -> str:
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
