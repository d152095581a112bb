"""Options that several commands take, each with its environment variable and what `--help` says of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        envvar="SUBWORLDS_TOKEN_FILE",
        help="File with the server's control token. Or put the token into SUBWORLDS_TOKEN.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a page for people.")]

JudgeUrl = Annotated[
    str | None,
    typer.Option(
        "--judge-url",
        metavar="URL",
        envvar="SUBWORLDS_JUDGE_URL",
        help="An OpenAI-compatible endpoint, up to /v1, whose model decides judged tasks. Its key is read "
        "from SUBWORLDS_JUDGE_KEY.",
    ),
]
JudgeModel = Annotated[
    str | None,
    typer.Option("--judge-model", metavar="NAME", envvar="SUBWORLDS_JUDGE_MODEL", help="The judge's model."),
]
JudgeTemperature = Annotated[
    float, typer.Option("--judge-temperature", min=0.0, envvar="SUBWORLDS_JUDGE_TEMPERATURE")
]
JudgeTimeout = Annotated[
    float,
    typer.Option(
        "--judge-timeout",
        min=0.1,
        envvar="SUBWORLDS_JUDGE_TIMEOUT",
        help="Seconds for one request to the judge.",
    ),
]
JudgeRetries = Annotated[
    int,
    typer.Option(
        "--judge-retries", min=0, envvar="SUBWORLDS_JUDGE_RETRIES", help="Further requests where one fails."
    ),
]
PreferJudge = Annotated[
    bool,
    typer.Option(
        "--prefer-judge",
        envvar="SUBWORLDS_PREFER_JUDGE",
        help="Have AWM tasks judged that have a code verifier as well.",
    ),
]

AgentName = Annotated[
    str,
    typer.Option(
        "--agent",
        metavar="NAME",
        help="Who plays. openai:MODEL is a model behind an OpenAI-compatible endpoint (see --agent-url), "
        "hf:FOLDER a model or LoRA adapter on disk. gold plays the task's solution; noop does nothing; the "
        "others cheat: early-done, answer-guessing, read-spam, spray, repeat-write, format-only, half-gold, "
        "gold-and-damage, destroy.",
    ),
]
AgentUrl = Annotated[
    str | None,
    typer.Option(
        "--agent-url",
        metavar="URL",
        envvar=["SUBWORLDS_AGENT_URL", "OPENAI_BASE_URL"],
        help="The endpoint of an openai: agent, up to /v1. Its key is read from SUBWORLDS_AGENT_KEY, or else "
        "OPENAI_API_KEY.",
    ),
]
AgentTemperature = Annotated[
    float | None,
    typer.Option(
        "--agent-temperature",
        min=0.0,
        envvar="SUBWORLDS_AGENT_TEMPERATURE",
        help="Of a model's sampling. Without it: the endpoint's own; for hf: 1.0, as in training.",
    ),
]
AgentTimeout = Annotated[
    float,
    typer.Option(
        "--agent-timeout",
        min=0.1,
        envvar="SUBWORLDS_AGENT_TIMEOUT",
        help="Seconds for one request to the agent's endpoint.",
    ),
]
AgentRetries = Annotated[
    int,
    typer.Option(
        "--agent-retries",
        min=0,
        envvar="SUBWORLDS_AGENT_RETRIES",
        help="Further requests where one fails in a way that may pass.",
    ),
]
ShownTools = Annotated[
    str,
    typer.Option(
        "--tools",
        metavar="HOW",
        help="How a model is shown the tools, as in training: full schemas, compact (a line each; hf: only), "
        "or meta (two tools that list and call the others).",
    ),
]
ExpertName = Annotated[
    str,
    typer.Option(
        "--expert",
        metavar="NAME",
        help="Whom a model may ask, with a tool ask_expert: none; gold, which knows the tasks' solutions; or "
        "openai:MODEL (see --expert-url). What it then earns is not its own doing alone.",
    ),
]
ExpertUrl = Annotated[
    str | None,
    typer.Option(
        "--expert-url",
        metavar="URL",
        envvar="SUBWORLDS_EXPERT_URL",
        help="The endpoint of an openai: expert, up to /v1, apart from the agent's. Its key is read from "
        "SUBWORLDS_EXPERT_KEY.",
    ),
]
Turns = Annotated[int, typer.Option("--turns", min=1, help="Turns that a model may have in an episode.")]
TurnTokens = Annotated[
    int | None,
    typer.Option(
        "--turn-tokens",
        min=1,
        help="Tokens that a model may write in a turn. Without it: what the endpoint allows; for hf: 512.",
    ),
]
Tokens = Annotated[
    int,
    typer.Option(
        "--tokens", min=1, help="Tokens that an hf: episode may have after its prompt, the world's included."
    ),
]
