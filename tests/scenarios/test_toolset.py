"""Routes as tools: what their schemas ask for, and how arguments reach the app."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from fastapi import APIRouter, Body, FastAPI, Form, Header, HTTPException, Path, Query, Request
from fastapi.responses import JSONResponse, RedirectResponse, StreamingResponse
from jsonschema import Draft202012Validator
from pydantic import BaseModel, ConfigDict, Field

from subworlds.scenarios.exchange import UnreachableRoute, read_response, request
from subworlds.scenarios.tool import FailureKind
from subworlds.scenarios.toolset import Endpoint, endpoints_of


class Color(StrEnum):
    RED = "red"
    GREEN = "green"


class Address(BaseModel):
    street: str
    number: int = 1


class Person(BaseModel):
    name: str = Field(description="First and last")
    color: Color | None = None
    address: Address | None = None
    previous: list[Address] = []


class Tree(BaseModel):
    name: str
    branches: list[Tree] = []


class Anything(BaseModel):
    model_config = ConfigDict(extra="allow")
    id: int


def endpoint_of(function: Callable[..., Any], path: str = "/", method: str = "POST", **how: Any) -> Endpoint:
    """The endpoint of an app with one route, a tool called `tool`."""
    return endpoint_in(FastAPI(), function, path, method, **how)


def endpoint_in(app: FastAPI, function: Callable[..., Any], path: str, method: str, **how: Any) -> Endpoint:
    app.add_api_route(path, function, methods=[method], operation_id="tool", response_model=None, **how)
    found, fatal, notes = endpoints_of(app, "app.py")
    assert not fatal
    assert not notes
    Draft202012Validator.check_schema(found["tool"].tool.input_schema)
    return found["tool"]


def play(
    function: Callable[..., Any],
    path: str = "/",
    method: str = "POST",
    /,
    app: FastAPI | None = None,
    **arguments: Any,
) -> Any:
    """What a tool answers: its result, or its failure's kind and message."""
    app = app or FastAPI()
    endpoint = endpoint_in(app, function, path, method)
    result, failure = read_response(asyncio.run(request(app, endpoint, arguments, {})))
    return result if failure is None else (failure.kind, failure.message)


def schema_of(function: Callable[..., Any], path: str = "/", method: str = "POST") -> dict[str, Any]:
    return endpoint_of(function, path, method).tool.input_schema


def test_path_query_header_and_body_become_one_flat_object() -> None:
    def tool(
        shop: Annotated[int, Path(description="Which shop")],
        person: Person,
        limit: Annotated[int, Query(ge=1, le=9)] = 5,
        x_reason: Annotated[str | None, Header()] = None,
    ) -> Any:
        return [shop, person, limit, x_reason]

    schema = schema_of(tool, "/shops/{shop}")
    assert list(schema["properties"]) == ["shop", "limit", "x-reason", "name", "color", "address", "previous"]
    assert schema["required"] == ["shop", "name"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["shop"]["description"] == "Which shop"
    assert schema["properties"]["limit"]["maximum"] == 9
    assert schema["properties"]["name"]["description"] == "First and last"
    assert "$ref" not in json.dumps(schema)
    assert play(tool, "/shops/{shop}", shop=7, name="Ann", limit=2, **{"x-reason": "why"}) == [
        7,
        {"name": "Ann", "color": None, "address": None, "previous": []},
        2,
        "why",
    ]


def test_a_parameter_of_the_path_and_a_field_of_the_body_may_share_a_name() -> None:
    def tool(id: int, thing: Anything) -> Any:
        return [id, thing]

    schema = schema_of(tool, "/things/{id}", "PUT")
    assert schema["required"] == ["id"]
    assert play(tool, "/things/{id}", "PUT", id=3, color="red") == [3, {"id": 3, "color": "red"}]


def test_enums_nested_models_and_lists_of_them_are_spelled_out() -> None:
    def tool(person: Person) -> Any:
        return person

    properties = schema_of(tool)["properties"]
    assert properties["color"]["anyOf"][0]["enum"] == ["red", "green"]
    assert properties["address"]["anyOf"][0]["properties"]["street"] == {"title": "Street", "type": "string"}
    assert properties["previous"]["items"]["required"] == ["street"]
    given = {"name": "Ann", "color": "red", "address": {"street": "Elm", "number": 2}, "previous": []}
    assert play(tool, **given) == given


def test_a_recursive_model_keeps_its_references_inside_the_schema() -> None:
    def tool(tree: Tree) -> Any:
        return tree

    schema = schema_of(tool)
    assert schema["properties"]["branches"]["items"]["properties"]["branches"]["items"] == {
        "$ref": "#/$defs/Tree"
    }
    tree = {"name": "a", "branches": [{"name": "b", "branches": [{"name": "c", "branches": []}]}]}
    Draft202012Validator(schema).validate(tree)
    assert not Draft202012Validator(schema).is_valid({"name": "a", "branches": [{"branches": []}]})
    assert play(tool, **tree) == tree


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (list[Address], [{"street": "Elm", "number": 1}]),
        (list[int], [1, 2]),
        (dict[str, int], {"a": 1}),
        (Annotated[int, Body()], 3),
        (Address | Tree, {"street": "Elm", "number": 1}),
    ],
)
def test_a_body_that_is_no_model_is_the_argument_body(kind: Any, given: Any) -> None:
    def tool(thing: Any) -> Any:
        return thing

    tool.__annotations__["thing"] = kind
    assert schema_of(tool)["required"] == ["body"]
    assert play(tool, body=given) == given


def test_several_bodies_are_arguments_by_their_names() -> None:
    def tool(home: Address, work: Address, note: Annotated[str, Body()] = "") -> Any:
        return [home.street, work.street, note]

    assert schema_of(tool)["required"] == ["home", "work"]
    assert play(tool, home={"street": "Elm"}, work={"street": "Oak"}) == ["Elm", "Oak", ""]


def test_a_body_that_may_be_left_out_is_left_out() -> None:
    def tool(address: Address | None = None) -> Any:
        return address

    assert schema_of(tool)["required"] == []
    assert play(tool) is None
    assert play(tool, street="Elm") == {"street": "Elm", "number": 1}


def test_a_model_that_takes_further_fields_says_so_and_gets_them() -> None:
    def tool(thing: Anything) -> Any:
        return thing

    assert schema_of(tool)["additionalProperties"] is True
    assert play(tool, id=1, color="red") == {"id": 1, "color": "red"}


def test_a_form_takes_its_fields_as_arguments() -> None:
    def tool(name: Annotated[str, Form()], member: Annotated[bool, Form()] = False) -> Any:
        return [name, member]

    pytest.importorskip("multipart")
    assert play(tool, name="Ann & Bob", member=True) == ["Ann & Bob", True]


@pytest.mark.parametrize("given", ["plain", "with space", "ä/ö?&=#%", "{other}", "..", "a+b"])
def test_a_query_gets_exactly_what_was_given(given: str) -> None:
    def tool(text: str, other: Annotated[list[str], Query()]) -> Any:
        return [text, other]

    assert play(tool, text=given, other=[given, "x"]) == [given, [given, "x"]]


@pytest.mark.parametrize("given", ["plain", "with space", "äö?&=#%", "{other}", "..", "a+b"])
def test_a_path_gets_exactly_what_was_given(given: str) -> None:
    def tool(text: str, other: str) -> Any:
        return [text, other]

    assert play(tool, "/{text}/{other}/end", "GET", text=given, other="x") == [given, "x"]


def test_a_path_parameter_that_spans_segments_gets_them_all() -> None:
    def tool(file: str) -> Any:
        return file

    assert play(tool, "/files/{file:path}", "GET", file="a/b c/d") == "a/b c/d"


@pytest.mark.parametrize("given", ["", "a/b", "7/delete"])
def test_an_argument_cannot_lead_to_another_route(given: str) -> None:
    def tool(id: str) -> Any:
        return "own"

    app = FastAPI()
    app.add_api_route("/things/{id}/delete", lambda: "another", methods=["GET"], operation_id="another")
    app.add_api_route("/things/", lambda: "another", methods=["GET"], operation_id="index")
    app.add_api_route("/things/{id}", tool, methods=["GET"], operation_id="tool")
    endpoints, _, _ = endpoints_of(app, "app.py")
    with pytest.raises(UnreachableRoute):
        asyncio.run(request(app, endpoints["tool"], {"id": given}, {}))


def test_every_tool_reaches_its_own_route_even_where_routes_shadow_each_other() -> None:
    app = FastAPI()
    app.add_api_route("/things/{id}", lambda: "by id", methods=["GET"], operation_id="by_id")
    app.add_api_route("/things/new", lambda: "new", methods=["GET"], operation_id="new")
    app.add_api_route("/things/new", lambda: "newer", methods=["GET"], operation_id="newer")
    endpoints, _, notes = endpoints_of(app, "app.py")
    assert not notes
    for name, answer in {"by_id": "by id", "new": "new", "newer": "newer"}.items():
        response = asyncio.run(request(app, endpoints[name], {"id": 1}, {}))
        assert read_response(response) == (answer, None)


def test_routes_of_included_routers_are_tools_and_hidden_ones_are_not() -> None:
    router = APIRouter(prefix="/shop")
    router.add_api_route("/open", lambda: 1, methods=["GET", "POST"], operation_id="open")
    router.add_api_route("/secret", lambda: 1, include_in_schema=False, operation_id="secret")
    app = FastAPI()
    app.include_router(router, prefix="/api")
    endpoints, _, notes = endpoints_of(app, "app.py")
    assert [endpoint.path for endpoint in endpoints.values()] == ["/api/shop/open"]
    assert [note.field for note in notes] == ["open"]


def test_a_route_without_a_name_of_its_own_gets_fastapis() -> None:
    app = FastAPI()

    @app.get("/things/{id}")
    def read_thing(id: int) -> None: ...

    assert list(endpoints_of(app, "app.py")[0]) == ["read_thing_things__id__get"]


def test_summary_and_description_are_the_tools_description() -> None:
    def tool() -> None:
        """All that there is to say."""

    assert endpoint_of(tool, summary="Say").tool.description == "Say\n\nAll that there is to say."
    assert endpoint_of(lambda: None, summary="Say").tool.description == "Say"


async def streamed() -> AsyncIterator[bytes]:
    for part in (b'{"a":', b" 1}"):
        yield part
        await asyncio.sleep(0)


def refuse(status: int, detail: Any) -> Callable[[], None]:
    def tool() -> None:
        raise HTTPException(status, detail)

    return tool


@pytest.mark.parametrize(
    ("tool", "answer"),
    [
        (lambda: {"a": [1, None, "ü"]}, {"a": [1, None, "ü"]}),
        (lambda: None, None),
        (lambda: JSONResponse({"a": 1}, status_code=201), {"a": 1}),
        (lambda: StreamingResponse(streamed(), media_type="application/json"), {"a": 1}),
        (lambda: RedirectResponse("/elsewhere"), ""),
        (refuse(404, "there is no such thing"), (FailureKind.TOOL_FAILED, "there is no such thing")),
        (refuse(409, {"code": 7}), (FailureKind.TOOL_FAILED, '{"code": 7}')),
        (refuse(422, "too many"), (FailureKind.TOOL_FAILED, "too many")),
        (refuse(422, ["too", "many"]), (FailureKind.TOOL_FAILED, '["too", "many"]')),
        (refuse(422, [{"loc": 1, "msg": "no"}]), (FailureKind.TOOL_FAILED, '[{"loc": 1, "msg": "no"}]')),
        (
            refuse(422, [{"loc": ["body", "name"], "msg": "is odd"}]),
            (FailureKind.INVALID_ARGUMENTS, "name: is odd"),
        ),
        (lambda: JSONResponse(None, status_code=500), (FailureKind.TOOL_FAILED, "HTTP status 500")),
    ],
)
def test_responses_become_results_or_typed_failures(tool: Callable[[], Any], answer: Any) -> None:
    assert play(tool, "/", "GET") == answer


def test_a_stream_behind_a_middleware_arrives_whole() -> None:
    app = FastAPI()

    @app.middleware("http")
    async def pass_on(incoming: Request, proceed: Any) -> Any:
        return await proceed(incoming)

    assert play(lambda: StreamingResponse(streamed(), media_type="application/json"), app=app) == {"a": 1}


def test_arguments_that_pydantic_refuses_are_invalid_arguments_by_name() -> None:
    def tool(person: Person, limit: Literal[1, 2] = 1) -> None: ...

    kind, message = play(tool, address={"number": "x"}, limit=3)
    assert kind is FailureKind.INVALID_ARGUMENTS
    assert [part.partition(":")[0] for part in message.split("; ")] == [
        "limit",
        "name",
        "address.street",
        "address.number",
    ]


def test_an_exception_that_nobody_handles_comes_out() -> None:
    def tool() -> None:
        raise LookupError("lost")

    with pytest.raises(LookupError, match="lost"):
        play(tool)


def test_an_app_that_handles_every_exception_answers_itself() -> None:
    app = FastAPI()

    @app.exception_handler(Exception)
    async def explain(_: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"detail": f"handled: {error}"}, status_code=500)

    def tool() -> None:
        raise LookupError("lost")

    assert play(tool, app=app) == (FailureKind.TOOL_FAILED, "handled: lost")


def test_an_app_without_routes_cannot_be_played() -> None:
    _, fatal, _ = endpoints_of(FastAPI(), "app.py")
    assert [str(problem) for problem in fatal] == ["app.py: the app has no route that could be a tool"]
