"""Built-in worlds with a generator: their seed and their generated tasks are what it gives, byte for byte."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from subworlds.cli.generate import Generation
from subworlds.scenarios.generation.generator import Generators
from subworlds.scenarios.generation.seed import seed_sql
from subworlds.scenarios.generation.task_lines import as_jsonl
from subworlds.scenarios.generation.world_folder import WorldFolder
from subworlds.scenarios.manager import ManagerSettings, ScenarioManager
from subworlds.scenarios.pack import BUILTIN_PACKS
from subworlds.scenarios.task import Scenario

pytestmark = pytest.mark.asyncio(loop_scope="module")

WORLDS = sorted(path.parent.name for path in BUILTIN_PACKS.glob("*/generator.py"))


def folder_of(world: str) -> WorldFolder:
    return WorldFolder(BUILTIN_PACKS / world)


def scenario_of(world: str) -> Scenario:
    return folder_of(world).scenario()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def generators() -> AsyncIterator[Generators]:
    async with Generators() as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def manager() -> AsyncIterator[ScenarioManager]:
    async with ScenarioManager(scenario_of, ManagerSettings(prefork=0)) as opened:
        yield opened


@pytest.mark.parametrize("world", WORLDS)
async def test_seed_is_what_the_generator_yields(world: str, generators: Generators) -> None:
    folder = folder_of(world)
    rows = await generators.rows(folder.path, folder.about().clock)
    assert seed_sql(world, rows).encode() == (folder.path / "seed.sql").read_bytes()


@pytest.mark.parametrize("world", WORLDS)
async def test_generated_tasks_are_what_the_generator_draws(
    world: str, generators: Generators, manager: ScenarioManager
) -> None:
    folder, generated = folder_of(world), folder_of(world).about().generated
    assert generated is not None
    generation = Generation(folder, scenario_of(world), manager, generators)
    drawn = as_jsonl(await generation.lines(generated.seed, generated.count))
    by_hand = "".join(f"{task.text}\n" for task in folder.hand_written())
    assert (by_hand + drawn).encode() == (folder.path / "tasks.jsonl").read_bytes()
