"""`subworlds fetch-awm`, with the real client of the hub against a stand-in for the hub."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from subworlds.scenarios.pack import Pack

from ..scenarios.generated_awm import write_awm_folder
from .conftest import Command
from .hub import COMMIT, REPOSITORY, Hub, hub

LARGE = "gen_verifier.jsonl"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, bytes]:
    """A data set as it lies on the hub."""
    write_awm_folder(tmp_path / "source", 4)
    found = {path.name: path.read_bytes() for path in (tmp_path / "source").iterdir()}
    return {**found, "README.md": b"# AWM\n", "preview.png": b"\x89PNG"}


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the machine's own hub settings."""
    for name in ("HF_ENDPOINT", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def fetch(subworlds: Command, held: Hub, out: Path, *options: str) -> tuple[int, str, str]:
    ran = subworlds("fetch-awm", out, "--repo", REPOSITORY, "--endpoint", held.url, *options)
    return ran.status, ran.out, ran.err


def held_in(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}


def test_data_set_is_fetched_and_can_be_served(
    subworlds: Command, files: dict[str, bytes], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with hub(files) as held:
        status, told, _ = fetch(subworlds, held, out)
        assert status == 0
        assert f"of {REPOSITORY} at {COMMIT[:12]}" in told
        assert f"subworlds serve --pack {out}" in told
        asked = len(held.ranges)
        assert fetch(subworlds, held, out)[0] == 0
        assert len(held.ranges) == asked, "what is there is not fetched again"
    wanted = {
        name: content for name, content in files.items() if name not in ("preview.png", "gen_spec.jsonl")
    }
    found = held_in(out)
    assert {name: found[name] for name in wanted} == wanted
    assert not {"preview.png", "gen_spec.jsonl"} & found.keys()
    assert len(Pack.load(out).tasks) == 40


def test_endpoint_is_taken_from_the_environment(
    subworlds: Command, files: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hub(files) as held:
        monkeypatch.setenv("HF_ENDPOINT", held.url)
        ran = subworlds("fetch-awm", tmp_path / "out", "--repo", REPOSITORY, "--revision", COMMIT)
        assert ran.status == 0
        assert held.ranges


def test_broken_connection_is_taken_up_where_it_broke(
    subworlds: Command, files: dict[str, bytes], tmp_path: Path
) -> None:
    files[LARGE] += b"\n" * 30_000_000
    with hub(files) as held:
        held.breaks_after[LARGE] = 25_000_000
        assert fetch(subworlds, held, tmp_path / "out")[0] == 0
        asked = [range for file, range in held.ranges if file == LARGE]
    assert len(asked) == 2
    assert asked[1] is not None
    assert asked[1].startswith("bytes=")
    assert not asked[1].startswith("bytes=0")
    assert held_in(tmp_path / "out")[LARGE] == files[LARGE]


def test_killed_download_is_resumed_by_the_next(
    subworlds: Command, files: dict[str, bytes], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    files[LARGE] += b"\n" * 30_000_000
    with hub(files) as held:
        held.stalls_after[LARGE] = 25_000_000
        command = "from subworlds.cli.main import main; main()"
        arguments = ["fetch-awm", str(out), "--repo", REPOSITORY, "--endpoint", held.url]
        environment = {**os.environ, "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
        with subprocess.Popen([sys.executable, "-c", command, *arguments], env=environment) as process:
            assert held.stalled.wait(120)
            partial = _await_partial(out)
            process.kill()
        assert not (out / LARGE).exists(), "a file is there when all of it is there"
        held.ranges.clear()
        assert fetch(subworlds, held, out)[0] == 0
        (range,) = [range for file, range in held.ranges if file == LARGE]
    assert range is not None
    assert int(range.removeprefix("bytes=").rstrip("-")) >= partial > 0
    assert held_in(out)[LARGE] == files[LARGE]


def test_damaged_part_is_fetched_anew_and_a_wrong_file_is_never_put_in_place(
    subworlds: Command, files: dict[str, bytes], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with hub(files) as held:
        digest = hashlib.sha256(files[LARGE]).hexdigest()
        out.mkdir()
        (out / f".{LARGE}.{digest[:16]}.part").write_bytes(b"x" * 1000)
        assert fetch(subworlds, held, out)[0] == 0
        assert held_in(out)[LARGE] == files[LARGE]
        (out / LARGE).unlink()
        held.etags[LARGE] = "0" * 64
        status, _, err = fetch(subworlds, held, out)
    assert status == 1
    assert f"{LARGE}: what arrived has another digest than the hub says" in err
    assert "Run the same command again" in err
    assert not (out / LARGE).exists()


def test_small_files_are_known_by_the_digest_of_git(
    subworlds: Command, files: dict[str, bytes], tmp_path: Path
) -> None:
    with hub(files) as held:
        readme = files["README.md"]
        held.etags["README.md"] = hashlib.sha1(b"blob %d\0" % len(readme) + readme).hexdigest()
        assert fetch(subworlds, held, tmp_path / "out")[0] == 0
        assert (tmp_path / "out" / "README.md").read_bytes() == readme


def test_hub_that_cannot_be_reached_is_named(
    subworlds: Command, files: dict[str, bytes], tmp_path: Path
) -> None:
    with hub(files) as held:
        assert fetch(subworlds, held, tmp_path / "there")[0] == 0
    for out in ("there", "not-there"):
        status, told, err = fetch(subworlds, held, tmp_path / out)
        assert (status, told) == (1, "")
        assert f"the hub at {held.url} cannot be reached" in err
        assert "HF_ENDPOINT" in err
    assert not (tmp_path / "not-there").exists()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--repo", "somebody/else"), "has no data set 'somebody/else'"),
        (("--revision", "v9"), "has no revision 'v9'"),
        (("--repo", "a/b/c"), "--repo: "),
    ],
)
def test_what_the_hub_does_not_have_is_named(
    subworlds: Command, files: dict[str, bytes], tmp_path: Path, options: tuple[str, str], reason: str
) -> None:
    with hub(files) as held:
        status, _, err = fetch(subworlds, held, tmp_path / "out", *options)
    assert status == 2
    assert reason in err
    assert not (tmp_path / "out").exists()


def test_other_data_sets_are_refused_before_anything_is_fetched(
    subworlds: Command, files: dict[str, bytes], tmp_path: Path
) -> None:
    del files["gen_envs.jsonl"]
    with hub(files) as held:
        status, _, err = fetch(subworlds, held, tmp_path / "out")
        assert held.ranges == []
    assert status == 2
    assert "is no AWM data set: it has no gen_envs.jsonl" in err


def test_file_in_the_way_is_named(subworlds: Command, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("precious")
    ran = subworlds("fetch-awm", tmp_path / "out")
    assert (ran.status, (tmp_path / "out").read_text()) == (2, "precious")
    assert "is no folder" in ran.err


def _await_partial(out: Path) -> int:
    """Bytes of the partly fetched file, once there are some."""
    while True:
        sizes = [path.stat().st_size for path in out.glob(".*.part")]
        if max(sizes, default=0) > 0:
            return max(sizes)
