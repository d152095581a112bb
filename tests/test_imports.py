"""The order of the house, read from the source: who imports whom, reads the environment, starts threads."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

ORDER: dict[str, set[str]] = {
    "sandbox": set(),
    "scenarios": {"sandbox"},
    "verifiers": {"sandbox", "scenarios"},
    "envs": {"sandbox", "scenarios", "verifiers"},
    "training": {"envs"},
    "cli": {"sandbox", "scenarios", "verifiers", "envs", "training"},
}
"""Each folder and the folders it may import."""

CLIENT_SIDE = {"subworlds.envs.client", "subworlds.envs.models"}
"""All of envs that a trainer may import: it needs no server."""

SERVER_LIBRARIES = {"uvicorn", "starlette", "fastapi", "sqlalchemy"}


def sources(folder: str) -> list[Path]:
    return [path for path in sorted((ROOT / folder).rglob("*.py")) if "packs" not in path.parts]


def module_name(path: Path) -> str:
    return ".".join(("subworlds", *path.relative_to(ROOT).with_suffix("").parts))


def imports(path: Path) -> Iterator[str]:
    """The modules a file imports anywhere in it, in full."""
    package = module_name(path).rpartition(".")[0].split(".")
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *filter(None, [node.module])])
            if module == "subworlds" or (node.level and node.module is None):
                yield from (f"{module}.{alias.name}" for alias in node.names)
            else:
                yield module


def folder_of(module: str) -> str | None:
    """The folder of ours that a module lies in."""
    first, _, rest = module.partition(".")
    return rest.partition(".")[0] if first == "subworlds" else None


def every_source() -> list[Path]:
    return [path for folder in ORDER for path in sources(folder)]


@pytest.mark.parametrize("folder", ORDER)
def test_folder_imports_only_the_folders_below_it(folder: str) -> None:
    allowed = ORDER[folder] | {folder}
    wrong = {
        f"{path.relative_to(ROOT)} imports {module}"
        for path in sources(folder)
        for module in imports(path)
        if (other := folder_of(module)) is not None and other not in allowed
    }
    assert not wrong


def test_sandbox_imports_nothing_but_the_standard_library() -> None:
    wrong = {
        f"{path.relative_to(ROOT)} imports {module}"
        for path in sources("sandbox")
        for module in imports(path)
        if folder_of(module) is None and module.partition(".")[0] not in sys.stdlib_module_names
    }
    assert not wrong


def test_client_imports_the_models_and_nothing_of_the_server() -> None:
    for name in ("client", "models"):
        found = set(imports(ROOT / "envs" / f"{name}.py"))
        ours = {module for module in found if folder_of(module) == "envs"}
        assert ours <= {"subworlds.envs.models"}
        assert not {module.partition(".")[0] for module in found} & SERVER_LIBRARIES


def test_door_of_envs_opens_to_the_client_side_only() -> None:
    ours = {module for module in imports(ROOT / "envs" / "__init__.py") if folder_of(module)}
    assert ours <= CLIENT_SIDE


def test_training_needs_no_server() -> None:
    wrong = {
        f"{path.relative_to(ROOT)} imports {module}"
        for path in sources("training")
        for module in imports(path)
        if folder_of(module) == "envs" and module not in CLIENT_SIDE | {"subworlds.envs"}
    }
    assert not wrong


def test_only_entry_points_read_the_environment() -> None:
    readers = {
        str(path.relative_to(ROOT))
        for path in every_source()
        for node in ast.walk(ast.parse(path.read_text()))
        if _reads_environment(node)
    }
    assert readers <= {
        *("cli/main.py", "envs/asgi.py", "training/train_grpo.py", "training/warmup.py"),  # the entry points
        "scenarios/memory.py",  # looks at a world's, which is empty
    }


def test_importing_a_module_starts_no_thread_and_no_process() -> None:
    wrong = {
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in every_source()
        for node in _calls_at_import(ast.parse(path.read_text()))
        if ast.unparse(node.func).endswith(
            ("Thread", "Popen", "Process", ".start", "run_until_complete", ".fork")
        )
    }
    assert not wrong


def _reads_environment(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == "os" and any(alias.name in ("environ", "getenv") for alias in node.names)
    return isinstance(node, ast.Attribute) and ast.unparse(node) in ("os.environ", "os.getenv", "os.environb")


def _calls_at_import(tree: ast.Module) -> Iterator[ast.Call]:
    """Calls that run when the module is imported: those outside of functions."""
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.Call):
            yield node
        waiting.extend(ast.iter_child_nodes(node))
