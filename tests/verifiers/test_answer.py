"""Answers in a person's words are accepted; guesses, sprays and half answers are not."""

from __future__ import annotations

import time
from typing import Any

import pytest

from subworlds.scenarios.task import Answer
from subworlds.verifiers.answer import LONGEST, matches

NBSP = "\u00a0"
THIN = "\u2009"
MINUS = "\u2212"


@pytest.mark.parametrize(
    ("expected", "given"),
    [
        (3, "3"),
        (3, "3.0"),
        (3.0, "3"),
        (3, " There are **3** books. "),
        (3, "3 or, put otherwise, 3.00"),
        (3, "$3.00"),
        (3, "3%"),
        (3, "3kg"),
        (3, '{"answer": 3}'),
        (3, "\uff13"),
        (1234, "1,234"),
        (1234567.5, "€1,234,567.50"),
        (1234567, f"1{NBSP}234{THIN}567"),
        (-3, "-3"),
        (-3, f"{MINUS}3"),
        (-3, "-$3"),
        (-3, "$-3"),
        (0.5, ".5"),
        (0.1 + 0.2, "0.3"),
        (300000, "3e5"),
        (10**30 + 1, str(10**30 + 1)),
        (7, "- 7"),
    ],
)
def test_number_in_words_is_accepted(expected: float, given: str) -> None:
    assert matches(Answer("number", expected), given)


@pytest.mark.parametrize(
    ("expected", "given"),
    [
        (3, ""),
        (3, "three"),
        (3, "3 or 4"),
        (3, "2, 3"),
        (3, "3-4"),
        (3, "3/4"),
        (3, "2026-03-03"),
        (3, "-3"),
        (3, "x3"),
        (3, "3a4"),
        (3, "3.14.15"),
        (3.14, "3.14.15"),
        (3, "3,4"),
        (5, ".5"),
        (3, "NaN"),
        (3, "inf"),
        (3, "1e999"),
        (3, "9" * 9_000),
        (10**30 + 1, str(10**30)),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (True, "1"),
    ],
)
def test_other_numbers_are_refused(expected: float, given: str) -> None:
    assert not matches(Answer("number", expected), given)


@pytest.mark.parametrize(
    ("given", "right"), [("9.9", True), ("10.1", True), ("10.11", False), ("9.8", False)]
)
def test_number_may_be_off_by_its_tolerance(given: str, right: bool) -> None:
    assert matches(Answer("number", 10, tolerance=0.1), given) is right


@pytest.mark.parametrize(
    "given",
    [
        "Romeo and Juliet",
        " romeo  AND juliet. ",
        '"Romeo and Juliet"',
        "“Romeo and Juliet”!",
        "*Romeo and Juliet*",
        '"Romeo and \\u004auliet"',
        "\uff32omeo and Juliet",
    ],
)
def test_text_is_compared_without_case_spacing_and_edges(given: str) -> None:
    assert matches(Answer("text", "Romeo and Juliet"), given)


@pytest.mark.parametrize(
    ("expected", "given"),
    [
        ("Dune", "Dune or Emma"),
        ("Dune", "It is Dune"),
        ("Dune", "Dun"),
        ("007", "7"),
        ("-5", "5"),
        ("C++", "C"),
        (".", "!"),
        ("Dune", '["Dune"]'),
    ],
)
def test_other_texts_are_refused(expected: str, given: str) -> None:
    assert not matches(Answer("text", expected), given)


@pytest.mark.parametrize(
    ("expected", "given"),
    [
        (["a", "b", "c"], "c, b, a"),
        (["a", "b", "c"], "A, B, and C."),
        (["a", "b"], '["b", "a"]'),
        (["a", "b"], "['b', 'a']"),
        (["a", "b"], "- a\n- b"),
        (["a", "b"], "1. a\n2. b"),
        (["a", "b"], "a; b"),
        (["a", "a", "b"], "a, b, a"),
        (["Smith, John", "Ann"], "Ann, Smith, John"),
        (["Romeo and Juliet", "Emma"], "Emma and Romeo and Juliet"),
        (["A", "A, B"], "A, A, B"),
        ([1, 2.5], "[2.5, 1.0]"),
        ([101, 102, 103], "101,102,103"),
        ([1234, 5], "5, 1,234"),
        ([17, 18], "1. 17\n2. 18"),
        ([3.5, 4], "$3.50 and $4.00"),
        (["Dune", 3], "3.0\nDune"),
        (["x"], "x"),
        ([], "[]"),
        ([], "None."),
    ],
)
def test_list_is_accepted_in_many_forms(expected: list[Any], given: str) -> None:
    assert matches(Answer("list", expected), given)


@pytest.mark.parametrize(
    ("expected", "given"),
    [
        (["a", "b"], "a"),
        (["a", "b"], "a, b, c"),
        (["a", "b"], "a, a, b"),
        (["a", "a"], "a"),
        (["a", "b"], '["a", "b", "c"]'),
        (["a", "b"], '[["a", "b"]]'),
        (["a", "b"], '{"a": "b"}'),
        (["Romeo and Juliet"], "Romeo, Juliet"),
        (["007"], "7"),
        ([5], ".5"),
        ([101, 102], "101102"),
        ([1, 2], "1, 2, 3"),
        (["x"], ""),
        ([], ""),
        ([], "a"),
    ],
)
def test_other_lists_are_refused(expected: list[Any], given: str) -> None:
    assert not matches(Answer("list", expected), given)


@pytest.mark.parametrize(
    ("given", "right"), [("a, b, a", True), ("a, a, b", False), ('["a", "b", "a"]', True)]
)
def test_order_counts_where_it_is_asked_for(given: str, right: bool) -> None:
    assert matches(Answer("list", ["a", "b", "a"], ordered=True), given) is right


@pytest.mark.parametrize("expected", [Answer("number", 3), Answer("text", ""), Answer("list", [])])
def test_no_answer_is_never_right(expected: Answer) -> None:
    assert not matches(expected, None)


def test_answer_that_is_too_long_is_wrong() -> None:
    assert matches(Answer("number", 3), "3" + " " * (LONGEST - 1))
    assert not matches(Answer("number", 3), "3" + " " * LONGEST)


@pytest.mark.parametrize(
    "given",
    [
        "9" * LONGEST,
        "1" * 5_000 + "a1",
        "1," * 5_000,
        "1 " * 5_000,
        "[" * LONGEST,
        "1." * 5_000,
        "x and " * 1_600,
        "\ufdfa" * LONGEST,
        "\x00" * LONGEST,
        "\ud800" * 9,
        "-$" * 5_000,
        "1e" * 5_000,
    ],
)
@pytest.mark.parametrize(
    "expected",
    [Answer("number", 3), Answer("text", "x"), Answer("list", ["x"] * 50), Answer("list", [3] * 50)],
)
def test_hostile_answers_are_refused_soon(expected: Answer, given: str) -> None:
    start = time.monotonic()
    assert not matches(expected, given)
    assert time.monotonic() - start < 2
