"""Where databases live while they are used: the fastest place with room, and nothing left behind."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from subworlds.sandbox import Workspace, WorkspaceFull, clone_file, has_room, remove_tree
from subworlds.sandbox import workspace as workspace_module


def test_a_workspace_is_gone_after_its_block(tmp_path: Path) -> None:
    with Workspace((tmp_path,)) as workspace:
        (folder,) = workspace.folders
        (folder / "world.db").write_text("x")
        assert folder.parent == tmp_path
        assert folder.name.startswith(f"subworlds-{os.getpid()}-")
    assert not list(tmp_path.iterdir())


def test_two_workspaces_do_not_disturb_each_other(tmp_path: Path) -> None:
    with Workspace((tmp_path,)) as one:
        with Workspace((tmp_path,)) as other:
            assert not set(one.folders) & set(other.folders)
        assert one.folders[0].exists()


def test_a_workspace_of_a_server_that_lives_is_not_swept(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from subworlds.sandbox import Workspace\n"
        f"with Workspace((Path({str(tmp_path)!r}),)) as workspace:\n"
        "    print(*workspace.folders, flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        other = Path(server.stdout.readline().strip())
        with Workspace((tmp_path,)):
            assert other.exists()
        server.kill()
        server.communicate()
    with Workspace((tmp_path,)):
        assert not other.exists()


def test_what_is_not_an_abandoned_workspace_is_left_alone(tmp_path: Path) -> None:
    for name in ("subworlds-notes", "subworlds-1-nolock", "other-1-x"):
        (tmp_path / name).mkdir()
    (tmp_path / "subworlds-1-file").write_text("x")
    (tmp_path / "subworlds-2-link").symlink_to(tmp_path / "other-1-x")
    before = set(tmp_path.iterdir())
    with Workspace((tmp_path,)):
        pass
    assert set(tmp_path.iterdir()) == before


def test_a_workspace_half_made_is_unmade(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), Workspace((tmp_path, tmp_path / "nowhere")):
        pass
    assert not list(tmp_path.iterdir())


def test_the_first_medium_with_room_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fast, slow = tmp_path / "fast", tmp_path / "slow"
    fast.mkdir()
    slow.mkdir()
    full: set[Path] = set()

    def has_room(folder: Path, _: int) -> bool:
        return folder.parent not in full

    monkeypatch.setattr(workspace_module, "has_room", has_room)
    with Workspace((fast, slow)) as workspace:
        assert workspace.place(10).parent == fast
        full.add(fast)
        assert workspace.place(10).parent == slow
        full.add(slow)
        with pytest.raises(WorkspaceFull, match="no room for databases of 10 bytes"):
            workspace.place(10)


def test_there_is_room_for_little_and_not_for_more_than_there_is(tmp_path: Path) -> None:
    free = os.statvfs(tmp_path)
    assert has_room(tmp_path, 1)
    assert not has_room(tmp_path, free.f_blocks * free.f_frsize)


@pytest.mark.parametrize("size", [0, 1, 5_000_000])
def test_a_clone_is_a_file_of_its_own(tmp_path: Path, size: int) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(os.urandom(size))
    clone_file(str(source), str(target))
    assert target.read_bytes() == source.read_bytes()
    assert target.stat().st_mode & 0o777 == 0o600
    target.write_bytes(b"changed")
    assert source.stat().st_size == size


def test_a_clone_overwrites_nothing(tmp_path: Path) -> None:
    for name in ("source", "target"):
        (tmp_path / name).write_text(name)
    with pytest.raises(FileExistsError):
        clone_file(str(tmp_path / "source"), str(tmp_path / "target"))
    assert (tmp_path / "target").read_text() == "target"


def test_a_tree_of_any_depth_and_rights_is_removed(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    (top / "file").write_text("x")
    (top / "link").symlink_to(tmp_path)
    here = os.getcwd()
    os.chdir(top)
    try:
        for _ in range(1200):
            os.mkdir("deep")
            os.chdir("deep")
        Path("file").write_text("x")
    finally:
        os.chdir(here)
    (top / "closed" / "inner").mkdir(parents=True)
    (top / "closed").chmod(0)
    remove_tree(top)
    assert not list(tmp_path.iterdir())
    remove_tree(top)


def test_a_lock_is_not_inherited_by_processes_that_are_started(tmp_path: Path) -> None:
    with Workspace((tmp_path,)) as workspace:
        lock = workspace.folders[0] / "lock"
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False)
    lock_free = tmp_path / "probe"
    lock_free.write_text("")
    assert not lock.exists()
    with lock_free.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    child.communicate(b"\n")
