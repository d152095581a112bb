"""The door: who may use the control plane, and what a stranger gets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from subworlds.envs import AccessDenied, SubworldsEnv
from subworlds.envs.app import ServerSettings
from subworlds.envs.gate import Access
from subworlds.scenarios.manager import ManagerSettings

TOKEN = "a-token-that-nobody-guesses"
TASK = "kiosk/sell-apples"
CONTROL = [
    "/ws",
    "/reset",
    "/step",
    "/state",
    "/mcp",
    "/stats",
    "/metadata",
    "/schema",
    "/openapi.json",
    "/docs",
]


class Serve(Protocol):
    def __call__(self, packs: list[Path], settings: ServerSettings) -> AbstractContextManager[str]: ...


@pytest.fixture(scope="module")
def guarded(serve: Serve, worlds: Path) -> Iterator[str]:
    """A server with a control token."""
    settings = ServerSettings(manager=ManagerSettings(warm=False), access=Access(token=TOKEN))
    with serve([worlds], settings) as url:
        yield url


def bearer(token: str | None) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


async def websocket_status(url: str, headers: dict[str, str]) -> int:
    """The status that a handshake is answered with: 101 where it is accepted."""
    try:
        async with connect(url.replace("http", "ws") + "/ws", additional_headers=headers, proxy=None):
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


async def test_who_has_the_token_plays(guarded: str) -> None:
    async with SubworldsEnv(base_url=guarded, token=TOKEN) as env:
        await env.reset(task=TASK)
        await env.call_tool("sell", good_id=1, quantity=3)
        assert (await env.done()).reward == 1.0
        assert await env.num_tasks("train") > 0


@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN[:-1], TOKEN + "x", TOKEN.upper()])
async def test_who_has_not_is_told_so(guarded: str, token: str | None) -> None:
    env = SubworldsEnv(base_url=guarded, token=token)
    with pytest.raises(AccessDenied, match=r"401.*token"):
        await env.connect()


@pytest.mark.parametrize("path", CONTROL)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_every_route_of_the_control_plane_asks_for_it(guarded: str, path: str, method: str) -> None:
    async with httpx.AsyncClient() as http:
        answer = await http.request(method, guarded + path)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert TOKEN not in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": TOKEN},
        {"authorization": f"Basic {TOKEN}"},
        {"authorization": f"Bearer{TOKEN}"},
        {"x-authorization": f"Bearer {TOKEN}"},
        {"cookie": f"token={TOKEN}"},
        {"x-forwarded-for": "127.0.0.1", "x-real-ip": "127.0.0.1"},
        {"x-original-url": "/health", "x-rewrite-url": "/health"},
    ],
)
async def test_no_other_header_is_a_token(guarded: str, headers: dict[str, str]) -> None:
    async with httpx.AsyncClient() as http:
        assert (await http.get(f"{guarded}/stats", headers=headers)).status_code == 401


SPELLINGS = [
    *("//stats", "/stats/", "/./stats", "/health/../stats", "/%73tats", "/health/..%2fstats", "/HEALTH"),
    *("/stats?path=/health", "/sessions/x/mcp/../../../stats", "/sessions/../mcp", "/sessions//mcp"),
]


@pytest.mark.parametrize("path", SPELLINGS)
async def test_no_spelling_of_a_path_goes_around(guarded: str, path: str) -> None:
    async with httpx.AsyncClient() as http:
        request = http.build_request("GET", guarded)
        request.url = request.url.copy_with(raw_path=path.encode())
        answer = await http.send(request)
        assert answer.status_code in (401, 404, 307)
        assert "capacity" not in answer.text


async def test_health_tells_nothing_but_health(guarded: str) -> None:
    async with httpx.AsyncClient() as http:
        answer = await http.get(f"{guarded}/health")
        assert answer.status_code == 200
        assert answer.json() == {"status": "healthy"}


async def test_the_agents_token_opens_its_episode_and_nothing_else(guarded: str) -> None:
    async with SubworldsEnv(base_url=guarded, token=TOKEN) as env, httpx.AsyncClient() as http:
        reset = (await env.reset(task=TASK)).observation
        headers = {**bearer(reset.mcp_token), "accept": "application/json, text/event-stream"}
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        assert (await http.post(str(reset.mcp_url), json=ping, headers=headers)).status_code == 200
        for path in CONTROL:
            assert (await http.post(guarded + path, json={}, headers=headers)).status_code == 401
        assert await websocket_status(guarded, bearer(reset.mcp_token)) == 401
        assert (await env.state()).phase == "playing"


async def test_the_control_token_is_no_agents_token(guarded: str) -> None:
    async with SubworldsEnv(base_url=guarded, token=TOKEN) as env, httpx.AsyncClient() as http:
        reset = (await env.reset(task=TASK)).observation
        answer = await http.post(str(reset.mcp_url), json={}, headers=bearer(TOKEN))
        assert answer.status_code == 401


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "https://127.0.0.1", "null", "http://127.0.0.1:1", "x"]
)
async def test_web_pages_of_others_are_refused(server_url: str, origin: str) -> None:
    """A page in a browser on this machine reaches the loopback, too."""
    async with httpx.AsyncClient() as http:
        assert (await http.get(f"{server_url}/stats", headers={"origin": origin})).status_code == 403
    assert await websocket_status(server_url, {"origin": origin}) == 403


async def test_a_page_of_the_servers_own_is_served(server_url: str) -> None:
    assert await websocket_status(server_url, {"origin": server_url}) == 101


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "[", "a@b"]
)
async def test_a_name_that_is_not_ours_is_refused(server_url: str, host: str) -> None:
    """A stranger's name may be made to point at the loopback; its page would then be of our origin."""
    async with httpx.AsyncClient() as http:
        answer = await http.get(f"{server_url}/stats", headers={"host": host})
        assert answer.status_code in (400, 403)


async def test_agents_of_other_origins_are_refused_as_well(server_url: str) -> None:
    async with SubworldsEnv(base_url=server_url) as env, httpx.AsyncClient() as http:
        reset = (await env.reset(task=TASK)).observation
        headers = {**bearer(reset.mcp_token), "origin": "http://evil.example"}
        assert (await http.post(str(reset.mcp_url), json={}, headers=headers)).status_code == 403


async def test_another_machine_is_not_served_without_a_token() -> None:
    """As uvicorn would run the application by its name, on an address that others reach."""
    from subworlds.envs.gate import Gate

    async def never(*_: object) -> None:
        raise AssertionError("let in")

    async def ask(client: str, access: Access) -> dict[str, object]:
        sent: list[dict[str, object]] = []

        async def send(message: dict[str, object]) -> None:
            sent.append(message)

        request = {"method": "GET", "path": "/stats", "query_string": b"", "root_path": "", "scheme": "http"}
        between = {"client": (client, 1), "server": ("0.0.0.0", 8000), "headers": [(b"host", b"127.0.0.1")]}
        scope = {"type": "http", **request, **between}
        await Gate(never, access)(scope, never, send)  # type: ignore[arg-type]
        return sent[0]

    for stranger in ("192.0.2.7", "10.0.0.1", "::ffff:192.0.2.7", "2001:db8::1", "", "localhost"):
        assert (await ask(stranger, Access()))["status"] == 403
    for friend in ("127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"):
        with pytest.raises(AssertionError, match="let in"):
            await ask(friend, Access())
    with pytest.raises(AssertionError, match="let in"):
        await ask("192.0.2.7", Access(anyone=True))
    assert (await ask("192.0.2.7", Access(token=TOKEN, anyone=True)))["status"] == 401


def test_settings_do_not_show_the_token() -> None:
    settings = ServerSettings(access=Access(token=TOKEN))
    assert TOKEN not in repr(settings)
    assert TOKEN not in json.dumps(str(settings))
