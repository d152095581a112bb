"""Verdicts and expectations travel as JSON and come back as they were; receipts stay short."""

from __future__ import annotations

import json

from subworlds.verifiers.expectation import Expectation
from subworlds.verifiers.verdict import Change, Verdict
from subworlds.verifiers.wire import (
    MOST_SHOWN,
    decode_expectation,
    decode_verdict,
    encode_expectation,
    encode_verdict,
    receipt,
)

INSERT = Change("t", "insert", {"id": 1}, None, {"id": 1, "v": {"hex": "00"}})
UPDATE = Change("t", "update", {"id": 2}, {"id": 2, "v": 1, "w": None}, {"id": 2, "v": 2.5, "w": None})
DELETE = Change("t", "delete", {"a": "x", "b": 1}, {"a": "x", "b": 1}, None)


def test_verdict_comes_back_as_it_was() -> None:
    sorted_changes = receipt(made=[INSERT], missing=[DELETE], unread=7)
    verdict = Verdict("incomplete", "because", sorted_changes, answer_matched=False)
    assert decode_verdict(json.loads(json.dumps(encode_verdict(verdict)))) == verdict


def test_expectation_comes_back_as_it_was() -> None:
    expectation = Expectation((INSERT, UPDATE, DELETE), {"t": frozenset({"v", "w"})}, {"u": frozenset({"x"})})
    assert decode_expectation(json.loads(json.dumps(encode_expectation(expectation)))) == expectation


def test_receipt_shows_of_an_update_what_changed() -> None:
    assert receipt(made=[UPDATE]).made == (Change("t", "update", {"id": 2}, {"v": 1}, {"v": 2.5}),)


def test_receipt_shows_what_is_wrong_before_what_is_right() -> None:
    many = [INSERT] * (MOST_SHOWN - 1)
    found = receipt(made=many, missing=[DELETE] * 2, collateral=[INSERT] * 3, unread=10)
    assert (len(found.missing), len(found.collateral), len(found.made)) == (2, 3, MOST_SHOWN - 5)
    assert found.omitted == 4 + 10


def test_receipt_cuts_long_values_everywhere() -> None:
    long = "x" * 10_000
    change = Change("t", "insert", {"k": long}, None, {"v": long, "b": {"hex": long}, "n": 10**18})
    (cut,) = receipt(unsorted=[change]).unsorted
    assert len(repr(cut)) < 1_000
    assert cut.after is not None
    assert cut.after["n"] == 10**18
