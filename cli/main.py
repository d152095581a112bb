"""The `subworlds` command: what it takes, from the command line and the environment.

What each command does lies in a module of its own, imported when the command runs, so that `--help` is quick.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .absences import without
from .failure import BadInput, CommandFailed
from .options import (
    AgentName,
    AgentRetries,
    AgentTemperature,
    AgentTimeout,
    AgentUrl,
    AllowLostRows,
    AllowUnconfined,
    AsJson,
    ExpertName,
    ExpertUrl,
    JudgeModel,
    JudgeRetries,
    JudgeTemperature,
    JudgeTimeout,
    JudgeUrl,
    Packs,
    PreferJudge,
    ShownTools,
    TokenFile,
    Tokens,
    Turns,
    TurnTokens,
)

if TYPE_CHECKING:
    from ..verifiers.judge import JudgeSettings
    from .players import Player
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


def main() -> None:
    """Run the command; exit with 0, with 2 for input that cannot be used, with 1 for other failures."""
    try:
        with without("gradio"):  # OpenEnv then goes without its web interface, which we do not serve
            app(prog_name="subworlds")
    except CommandFailed as failure:
        print(f"subworlds: {failure}", file=sys.stderr)
        sys.exit(failure.exit_code)


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
            help="Accept a --host that other machines reach, and no token: whoever reaches it can reset, "
            "step and score.",
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
    judge_url: JudgeUrl = None,
    judge_model: JudgeModel = None,
    judge_temperature: JudgeTemperature = 0.0,
    judge_timeout: JudgeTimeout = 60.0,
    judge_retries: JudgeRetries = 3,
    prefer_judge: PreferJudge = False,
    token_file: TokenFile = None,
    reward_weights: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=WEIGHT,...",
            envvar="SUBWORLDS_REWARD_WEIGHTS",
            help="What the reward's components are worth; they sum to 1. "
            "Without it: task=0.4,process=0.25,format=0.2,efficiency=0.15.",
        ),
    ] = None,
    allow_unconfined: AllowUnconfined = False,
    allow_lost_rows: AllowLostRows = False,
) -> None:
    """Serve worlds until SIGTERM or Ctrl-C. Prints one line on stdout when ready."""
    from .serve import ServeOptions
    from .serve import serve as run

    options = ServeOptions(
        host,
        port,
        allow_remote,
        capacity,
        idle_timeout,
        prefork,
        call_timeout,
        public_url,
        weights=reward_weights,
        token=_token(token_file),
    )
    judge = _judge(judge_url, judge_model, judge_temperature, judge_timeout, judge_retries)
    run(_worlds(pack, allow_unconfined, allow_lost_rows, judge, prefer_judge=prefer_judge), options)


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
def solutions(
    split: Annotated[str, typer.Option(help="Of this split; 'test' is refused.")] = "train",
    pack: Packs = None,
) -> None:
    """Print the gold solutions of a split for a trainer, one JSON object a line."""
    from .solutions import print_solutions

    print_solutions(_worlds(pack, allow_unconfined=False, allow_lost_rows=False), split)


@app.command("import-awm")
def import_awm_command(
    source: Annotated[Path, typer.Argument(metavar="DIR", help="An AWM folder (gen_*.jsonl).")],
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="Folder to make, with a world for each scenario.")
    ],
    scenario: Annotated[
        list[str] | None,
        typer.Option("--scenario", metavar="NAME", help="Import this scenario only. Repeat for several."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the worlds that lie at OUT.")] = False,
    prefer_judge: PreferJudge = False,
    as_json: AsJson = False,
    allow_unconfined: AllowUnconfined = False,
) -> None:
    """Turn an AWM folder into native worlds, and report what is wrong with each scenario.

    Exits with 1 if the worlds go without a scenario, task or row that the folder has.
    """
    from .import_awm import ImportOptions, import_awm

    worlds = _worlds([source], allow_unconfined, allow_lost_rows=False, prefer_judge=prefer_judge)
    import_awm(worlds, ImportOptions(out, tuple(scenario or ()), force), as_json=as_json)


@app.command("fetch-awm")
def fetch_awm_command(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to fetch into.")],
    repo: Annotated[
        str, typer.Option("--repo", metavar="ID", help="The data set on the hub.")
    ] = "Snowflake/AgentWorldModel-1K",
    revision: Annotated[
        str, typer.Option("--revision", metavar="REV", help="A branch, a tag or a commit.")
    ] = "main",
    endpoint: Annotated[
        str | None, typer.Option("--endpoint", metavar="URL", envvar="HF_ENDPOINT", help="Another hub.")
    ] = None,
) -> None:
    """Fetch the AWM data set (1,000 scenarios, about 450 MB) from the Hugging Face hub, with resume."""
    from .fetch_awm import FetchOptions, fetch_awm

    fetch_awm(FetchOptions(out, repo, revision, endpoint or None))


@app.command()
def run(
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task's id, as in `show`.")],
    agent: AgentName = "gold",
    agent_url: AgentUrl = None,
    agent_temperature: AgentTemperature = None,
    agent_timeout: AgentTimeout = 120.0,
    agent_retries: AgentRetries = 3,
    tools: ShownTools = "full",
    turns: Turns = 12,
    turn_tokens: TurnTokens = None,
    tokens: Tokens = 4_096,
    seed: Annotated[int, typer.Option(help="The world's seed.")] = 0,
    url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", envvar="SUBWORLDS_URL", help="Play on this server, not on one of our own."
        ),
    ] = None,
    token_file: TokenFile = None,
    pack: Packs = None,
    judge_url: JudgeUrl = None,
    judge_model: JudgeModel = None,
    judge_temperature: JudgeTemperature = 0.0,
    judge_timeout: JudgeTimeout = 60.0,
    judge_retries: JudgeRetries = 3,
    prefer_judge: PreferJudge = False,
    as_json: AsJson = False,
    allow_unconfined: AllowUnconfined = False,
    allow_lost_rows: AllowLostRows = False,
) -> None:
    """Play one episode through a server; show the calls, the receipt and the reward."""
    from .run_task import run_task

    player = _player(
        agent,
        agent_url,
        agent_temperature,
        agent_timeout,
        agent_retries,
        tools,
        turns,
        turn_tokens,
        tokens,
        seed,
    )
    judge = _judge(judge_url, judge_model, judge_temperature, judge_timeout, judge_retries)
    worlds = _worlds(pack, allow_unconfined, allow_lost_rows, judge, prefer_judge=prefer_judge)
    run_task(
        worlds, task, player, seed=seed, url=url, token=_token(token_file) if url else None, as_json=as_json
    )


@app.command("eval")
def eval_command(
    agent: AgentName = "gold",
    agent_url: AgentUrl = None,
    agent_temperature: AgentTemperature = None,
    agent_timeout: AgentTimeout = 120.0,
    agent_retries: AgentRetries = 3,
    tools: ShownTools = "full",
    turns: Turns = 12,
    turn_tokens: TurnTokens = None,
    tokens: Tokens = 4_096,
    expert: ExpertName = "none",
    expert_url: ExpertUrl = None,
    split: Annotated[str | None, typer.Option(help="Play this split only.")] = None,
    scenario: Annotated[str | None, typer.Option(help="Play this world only.")] = None,
    attempts: Annotated[
        int, typer.Option("--attempts", "-k", min=1, help="Episodes for each task, for pass@k and pass^k.")
    ] = 1,
    limit: Annotated[int | None, typer.Option(min=1, help="Play the first so many tasks only.")] = None,
    seed: Annotated[int, typer.Option(help="The first attempt's seed; others count up from it.")] = 0,
    at_once: Annotated[int, typer.Option(min=1, help="Episodes played at the same time.")] = 8,
    url: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            envvar="SUBWORLDS_URL",
            help="Play on this server; repeat for several, used in turn.",
        ),
    ] = None,
    token_file: TokenFile = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Store every trajectory here, one JSON object a line."),
    ] = None,
    pack: Packs = None,
    as_json: AsJson = False,
    allow_unconfined: AllowUnconfined = False,
    allow_lost_rows: AllowLostRows = False,
) -> None:
    """Let an agent play many tasks; report success, pass@k, rewards and errors, with 95 % intervals."""
    from .evaluate import EvalOptions, evaluate

    player = _player(
        agent,
        agent_url,
        agent_temperature,
        agent_timeout,
        agent_retries,
        tools,
        turns,
        turn_tokens,
        tokens,
        seed,
        expert=expert,
        expert_url=expert_url,
    )
    options = EvalOptions(
        player=player,
        split=split,
        scenario=scenario,
        attempts=attempts,
        limit=limit,
        seed=seed,
        at_once=at_once,
        urls=tuple(url or ()),
        out=out,
        token=_token(token_file) if url else None,
    )
    evaluate(_worlds(pack, allow_unconfined, allow_lost_rows), options, as_json=as_json)


@app.command()
def estimate(
    model: Annotated[
        str,
        typer.Option(
            "--model", metavar="NAME", help="A Qwen3, as Qwen/Qwen3-8B, or a folder with its config.json."
        ),
    ],
    gpu: Annotated[
        str | None, typer.Option(metavar="NAME", help="T4, A100-40, A100-80, H100 or H200.")
    ] = None,
    memory: Annotated[
        float | None, typer.Option(min=1, metavar="GIB", help="The memory of another GPU.")
    ] = None,
    lora_rank: Annotated[
        int | None, typer.Option(min=0, help="0 for all weights. Without it: what fits.")
    ] = None,
    load_in_4bit: Annotated[bool, typer.Option("--load-in-4bit", help="With the base in 4 bit.")] = False,
    micro_batch: Annotated[int | None, typer.Option(min=1, help="Without it: the largest that fits.")] = None,
    context: Annotated[
        int | None, typer.Option(min=256, help="Tokens of the longest episode. Without it: 16384, or 8192.")
    ] = None,
    vllm_mode: Annotated[
        str | None, typer.Option(metavar="MODE", help="colocate, server or off. Without it: colocate.")
    ] = None,
    vllm_memory: Annotated[
        float | None, typer.Option(min=0.05, max=0.95, help="vLLM's share. Without it: what fits.")
    ] = None,
    tasks_per_step: Annotated[int, typer.Option(min=1, help="As in training.")] = 4,
    num_generations: Annotated[int, typer.Option(min=2, help="As in training.")] = 8,
    as_json: AsJson = False,
) -> None:
    """Work out the GPU memory that training takes, and print the train_grpo.py command that fits.

    Needs no GPU, no network and no model. Exits with 1 where nothing fits.
    """
    from ..training.fitting import Wishes
    from ..training.gpu_memory import Vllm
    from .estimate import EstimateOptions
    from .estimate import estimate as run

    if vllm_mode is not None and vllm_mode not in list(Vllm):
        raise BadInput(f"--vllm-mode {vllm_mode}: there are {', '.join(Vllm)}")
    wishes = Wishes(
        lora_rank,
        load_in_4bit,
        micro_batch,
        context,
        None if vllm_mode is None else Vllm(vllm_mode),
        vllm_memory,
        tasks_per_step,
        num_generations,
    )
    run(EstimateOptions(model, gpu, memory, wishes), as_json=as_json)


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
def certify(
    packs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PATH]...", help="Packs, worlds or AWM folders. Without any: the built-in packs."
        ),
    ] = None,
    task: Annotated[
        list[str] | None, typer.Option("--task", metavar="ID", help="Certify this task. Repeat for several.")
    ] = None,
    world: Annotated[
        list[str] | None,
        typer.Option("--world", metavar="NAME", help="Certify this world. Repeat for several."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Episodes played at the same time.")] = 6,
    seed: Annotated[int, typer.Option(help="Seed of the worlds and of the choice of mutants.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write certificates here, not into the worlds' own folders."),
    ] = None,
    as_json: AsJson = False,
    allow_unconfined: AllowUnconfined = False,
    allow_lost_rows: AllowLostRows = False,
) -> None:
    """Find out whether verifiers tell right from wrong: play solutions, mutants and cheats of every task.

    Writes certificate.json beside the tasks. Exits with 1 where a task failed, with 2 where a pack cannot be
    read.
    """
    from .certify import CertifyOptions
    from .certify import certify as run

    options = CertifyOptions(tuple(task or ()), tuple(world or ()), seed, jobs, out)
    run(_worlds(packs, allow_unconfined, allow_lost_rows), options, as_json=as_json)


@app.command()
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The world's name: small letters, digits, _.")],
    parent: Annotated[
        Path, typer.Option("--in", metavar="DIR", help="The folder that gets the world's folder.")
    ] = Path(),
) -> None:
    """Write a complete small world to start from: tables, tools, a policy, a generator, tasks."""
    from .new_world import new_world

    new_world(name, parent)


@app.command()
def check(
    path: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[PATH]...", help="Packs, worlds or AWM folders. Without one: the built-in packs."
        ),
    ] = None,
    as_json: AsJson = False,
    allow_unconfined: AllowUnconfined = False,
    allow_lost_rows: AllowLostRows = False,
) -> None:
    """Find what is wrong with packs: reads them, starts their worlds, plays their tasks.

    Exits with 0 where nothing is found, 1 where something is, 2 where part of a pack cannot be read.
    """
    from .check import check as run

    worlds = _worlds(path, allow_unconfined, allow_lost_rows)
    run(worlds, worlds.packs, as_json=as_json)


bench_commands = typer.Typer(rich_markup_mode=None)
app.add_typer(bench_commands, name="bench")


@bench_commands.callback(invoke_without_command=True)
def bench(
    context: typer.Context,
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
    if context.invoked_subcommand is not None:
        return
    from .bench import BenchOptions
    from .bench import bench as run

    options = BenchOptions(scenario, read_tool, read_arguments, sessions, quick)
    run(_worlds(pack, allow_unconfined, allow_lost_rows), options, as_json=as_json)


@bench_commands.command(name="rollout")
def bench_rollout(
    scenario: Annotated[
        str | None, typer.Option(metavar="SCENARIO", help="Play in this world. Without it: in any.")
    ] = None,
    episodes: Annotated[
        list[int] | None, typer.Option(metavar="N", help="Size of a batch; repeat it. Without it: 16.")
    ] = None,
    step: Annotated[int, typer.Option(metavar="N", help="Episodes of a training step.")] = 64,
    quick: Annotated[bool, typer.Option("--quick", help="One round: a look, not a measurement.")] = False,
    pack: Packs = None,
    as_json: AsJson = False,
) -> None:
    """Measure batches of episodes for a trainer, beside OpenEnv's way to play them, and a training step.

    Needs the `train` extra.
    """
    if find_spec("trl") is None:
        raise CommandFailed(
            "bench rollout needs trl, which the train extra has: pip install 'subworlds[train]'"
        )
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    from .bench_rollout import RolloutBenchOptions
    from .bench_rollout import bench_rollout as run

    options = RolloutBenchOptions(scenario, tuple(episodes or (16,)), step, quick)
    run(_worlds(pack, False, False), options, as_json=as_json)


def _token(file: Path | None) -> str | None:
    from .token import read_token

    return read_token(file, os.environ.get("SUBWORLDS_TOKEN"))


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Try each layer of confinement on this machine; fail if worlds could not be confined."""
    from .doctor import doctor as run

    run(as_json=as_json)


def _worlds(
    pack: list[Path] | None,
    allow_unconfined: bool,
    allow_lost_rows: bool,
    judge: JudgeSettings | None = None,
    *,
    prefer_judge: bool = False,
) -> Worlds:
    from ..scenarios.pack import BUILTIN_PACKS
    from .worlds import Worlds

    packs = tuple(pack) if pack else (BUILTIN_PACKS,)
    return Worlds(packs, allow_unconfined, allow_lost_rows, _cache_folder(), judge, prefer_judge)


def _player(
    agent: str,
    url: str | None,
    temperature: float | None,
    timeout_s: float,
    retries: int,
    tools: str,
    turns: int,
    turn_tokens: int | None,
    tokens: int,
    seed: int,
    *,
    expert: str = "none",
    expert_url: str | None = None,
) -> Player:
    """Who plays. Keys of endpoints are taken out of the environment: no process we start inherits them.

    Raises:
        BadInput: there is no such agent, or no such way to show tools.
    """
    from ..training.exposure import Exposure
    from .players import Player

    keys = [os.environ.pop(name, None) for name in ("SUBWORLDS_AGENT_KEY", "OPENAI_API_KEY")]
    expert_key = os.environ.pop("SUBWORLDS_EXPERT_KEY", None)
    if tools not in list(Exposure):
        raise BadInput(f"--tools {tools}: there are {', '.join(Exposure)}")
    key = next(filter(None, keys), None)
    return Player(
        agent,
        url or None,
        key,
        temperature,
        timeout_s,
        retries,
        Exposure(tools),
        turns,
        turn_tokens,
        tokens,
        seed,
        expert,
        expert_url or None,
        expert_key or None,
    )


def _judge(
    url: str | None, model: str | None, temperature: float, timeout_s: float, retries: int
) -> JudgeSettings | None:
    """The judge, if one is named. Its key is taken out of the environment: no process we start inherits it.

    Raises:
        BadInput: it is named by half, or its URL is none.
    """
    key = os.environ.pop("SUBWORLDS_JUDGE_KEY", None)
    if not url and not model:
        return None
    if not url or not model:
        raise BadInput("a judge needs both --judge-url and --judge-model (or SUBWORLDS_JUDGE_URL and _MODEL)")
    from ..verifiers.judge import JudgeSettings

    try:
        return JudgeSettings(url, model, key or None, temperature, timeout_s, retries)
    except Exception as error:  # httpx has several kinds for a URL that is none
        raise BadInput(f"--judge-url: {error}") from error


def _cache_folder() -> Path:
    """$XDG_CACHE_HOME/subworlds, or ~/.cache/subworlds. A relative path does not count (XDG says so)."""
    home = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (home if home.is_absolute() else Path(os.path.expanduser("~/.cache"))) / "subworlds"
