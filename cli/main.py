"""The `subworlds` command: what it takes, from the command line and the environment.

What each command does lies in a module of its own, imported when the command runs, so that `--help` is quick.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .failure import CommandFailed

if TYPE_CHECKING:
    from .worlds import Worlds

app = typer.Typer(
    name="subworlds",
    help="One server, many small SQLite worlds; each a sandboxed set of MCP tools with a verified reward.",
    epilog="New here? Try: subworlds demo",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,  # errors stay plain lines, which a box would wrap and cut
    pretty_exceptions_enable=False,
)

Packs = Annotated[
    list[Path] | None,
    typer.Option(
        "--pack",
        metavar="PATH",
        envvar="SUBWORLDS_PACK",
        help="A folder with worlds: a pack, one world, or an AWM folder. Repeat for several. "
        "Without it: the built-in packs.",
    ),
]
AllowUnconfined = Annotated[
    bool,
    typer.Option(
        "--allow-unconfined",
        envvar="SUBWORLDS_ALLOW_UNCONFINED",
        help="Run worlds and verifiers without confinement where this machine cannot confine them.",
    ),
]
AllowLostRows = Annotated[
    bool,
    typer.Option(
        "--allow-lost-rows",
        envvar="SUBWORLDS_ALLOW_LOST_ROWS",
        help="Start AWM worlds without the seed rows that fail.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a page for people.")]


class AgentName(StrEnum):
    """The scripted agents."""

    GOLD = "gold"
    NOOP = "noop"


def main() -> None:
    """Run the command; exit with 0, with 2 for input that cannot be used, with 1 for other failures."""
    try:
        with _without_gradio():
            app(prog_name="subworlds")
    except CommandFailed as failure:
        print(f"subworlds: {failure}", file=sys.stderr)
        sys.exit(failure.exit_code)


@contextmanager
def _without_gradio() -> Generator[None]:
    """Let OpenEnv find no gradio: it goes without its web interface, which we do not serve.

    Importing gradio would take longer, and more memory, than all the rest of a server together.
    """
    modules: dict[str, Any] = sys.modules
    if "gradio" in modules:
        yield
        return
    modules["gradio"] = None
    try:
        yield
    finally:
        del modules["gradio"]


@app.command()
def serve(
    pack: Packs = None,
    host: Annotated[str, typer.Option(envvar="SUBWORLDS_HOST", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, envvar="SUBWORLDS_PORT", help="Port; 0 for any free one.")
    ] = 8000,
    allow_remote: Annotated[
        bool,
        typer.Option(
            "--allow-remote",
            envvar="SUBWORLDS_ALLOW_REMOTE",
            help="Accept a --host that other machines reach: whoever reaches it can reset, step and score.",
        ),
    ] = False,
    capacity: Annotated[
        int, typer.Option(min=1, envvar="SUBWORLDS_CAPACITY", help="Sessions alive at once.")
    ] = 1024,
    idle_timeout: Annotated[
        float,
        typer.Option(
            min=1, envvar="SUBWORLDS_IDLE_TIMEOUT", help="Seconds until an unused session is ended."
        ),
    ] = 1800.0,
    prefork: Annotated[
        int,
        typer.Option(min=0, envvar="SUBWORLDS_PREFORK", help="Sessions kept ready for each world in use."),
    ] = 1,
    call_timeout: Annotated[
        float,
        typer.Option(min=0.1, envvar="SUBWORLDS_CALL_TIMEOUT", help="Seconds a tool call may take."),
    ] = 30.0,
    public_url: Annotated[
        str | None,
        typer.Option(
            envvar="SUBWORLDS_PUBLIC_URL",
            help="URL under which agents reach this server, if not the address it listens on.",
        ),
    ] = None,
    allow_unconfined: AllowUnconfined = False,
    allow_lost_rows: AllowLostRows = False,
) -> None:
    """Serve worlds until SIGTERM or Ctrl-C. Prints one line on stdout when ready."""
    from .serve import ServeOptions
    from .serve import serve as run

    options = ServeOptions(
        host, port, allow_remote, capacity, idle_timeout, prefork, call_timeout, public_url
    )
    run(_worlds(pack, allow_unconfined, allow_lost_rows), options)


@app.command("list")
def list_command(
    pack: Packs = None,
    start: Annotated[
        bool,
        typer.Option("--start", help="Start the worlds of AWM folders, too: minutes for a thousand of them."),
    ] = False,
    as_json: AsJson = False,
    allow_unconfined: AllowUnconfined = False,
    allow_lost_rows: AllowLostRows = False,
) -> None:
    """List the worlds, with how many tools and tasks each has.

    Starts each once, so a broken one shows; but the tools of AWM worlds are counted in their source, unless
    --start is given.
    """
    from .list_worlds import list_worlds

    list_worlds(_worlds(pack, allow_unconfined, allow_lost_rows), start=start, as_json=as_json)


@app.command()
def show(
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO", help="A world's name, as in `list`.")],
    pack: Packs = None,
    as_json: AsJson = False,
    allow_unconfined: AllowUnconfined = False,
    allow_lost_rows: AllowLostRows = False,
) -> None:
    """Show a world's tools and tasks. Solutions and checks stay hidden."""
    from .show_world import show_world

    show_world(_worlds(pack, allow_unconfined, allow_lost_rows), scenario, as_json=as_json)


@app.command()
def run(
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task's id, as in `show`.")],
    agent: Annotated[
        AgentName, typer.Option(help="gold plays the task's solution; noop does nothing.")
    ] = AgentName.GOLD,
    seed: Annotated[int, typer.Option(help="The world's seed.")] = 0,
    url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", envvar="SUBWORLDS_URL", help="Play on this server, not on one of our own."
        ),
    ] = None,
    pack: Packs = None,
    as_json: AsJson = False,
    allow_unconfined: AllowUnconfined = False,
    allow_lost_rows: AllowLostRows = False,
) -> None:
    """Play one episode through a server; show the calls, the receipt and the reward."""
    from .run_task import run_task

    worlds = _worlds(pack, allow_unconfined, allow_lost_rows)
    run_task(worlds, task, agent.value, seed=seed, url=url, as_json=as_json)


@app.command()
def demo(allow_unconfined: AllowUnconfined = False) -> None:
    """Play a task in every built-in world with two agents: one that solves it, one that does nothing."""
    from .demo import demo as run

    run(_worlds(None, allow_unconfined, allow_lost_rows=False))


@app.command()
def generate(
    world: Annotated[
        str,
        typer.Argument(metavar="WORLD", help="A world's name, or the path of its folder, with generator.py."),
    ],
    seed: Annotated[
        int | None,
        typer.Option(
            min=0, help="Another seed, other tasks. Without it: the one noted in scenario.json, or 1."
        ),
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(min=1, help="How many tasks. Without it: as many as noted in scenario.json, or 45."),
    ] = None,
    template: Annotated[
        str | None, typer.Option(metavar="NAME", help="Draw only from this template.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the task lines (or the seed) here; - for stdout."),
    ] = None,
    write: Annotated[
        bool,
        typer.Option(
            "--write",
            help="Put the tasks into the world's tasks.jsonl, after those written by hand and in place of "
            "those generated before, and note seed and count in scenario.json.",
        ),
    ] = False,
    seed_rows: Annotated[
        bool,
        typer.Option(
            "--seed-rows", help="Write the world's seed.sql from the generator's rows; draw no tasks."
        ),
    ] = False,
    pack: Packs = None,
    as_json: AsJson = False,
    allow_unconfined: AllowUnconfined = False,
) -> None:
    """Draw tasks from a world's generator and play each. Without --write or --out it only reports."""
    from .generate import GenerateOptions
    from .generate import generate as run

    options = GenerateOptions(world, seed, count, template, out, write, seed_rows)
    run(_worlds(pack, allow_unconfined, allow_lost_rows=False), options, as_json=as_json)


@app.command()
def bench(
    scenario: Annotated[
        str | None, typer.Option(metavar="SCENARIO", help="Measure this world. Without it: one that suits.")
    ] = None,
    read_tool: Annotated[
        str | None, typer.Option(metavar="TOOL", help="A tool of the world that changes nothing.")
    ] = None,
    read_arguments: Annotated[str, typer.Option(metavar="JSON", help="The arguments of --read-tool.")] = "{}",
    sessions: Annotated[
        int | None, typer.Option(min=1, help="Measure with this number of live sessions as well.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few repetitions: a look, not a measurement.")
    ] = False,
    pack: Packs = None,
    as_json: AsJson = False,
    allow_unconfined: AllowUnconfined = False,
    allow_lost_rows: AllowLostRows = False,
) -> None:
    """Measure speed and memory on this machine, beside a bare process and an empty environment."""
    from .bench import BenchOptions
    from .bench import bench as run

    options = BenchOptions(scenario, read_tool, read_arguments, sessions, quick)
    run(_worlds(pack, allow_unconfined, allow_lost_rows), options, as_json=as_json)


def _worlds(pack: list[Path] | None, allow_unconfined: bool, allow_lost_rows: bool) -> Worlds:
    from .worlds import Worlds

    cache = _cache_folder()
    if not pack:
        return Worlds(allow_unconfined=allow_unconfined, allow_lost_rows=allow_lost_rows, cache=cache)
    return Worlds(tuple(pack), allow_unconfined, allow_lost_rows, cache)


def _cache_folder() -> Path:
    """$XDG_CACHE_HOME/subworlds, or ~/.cache/subworlds. A relative path does not count (XDG says so)."""
    home = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (home if home.is_absolute() else Path(os.path.expanduser("~/.cache"))) / "subworlds"
