"""Splitting SQL files: where statements end, and on which line each starts."""

from __future__ import annotations

import sqlite3
import time

import pytest

from subworlds.scenarios.sqltext import UnclosedText, first_word, split_statements


def split(text: str) -> list[str]:
    return [statement.sql for statement in split_statements(text, "a.sql")]


def test_each_statement_has_its_text_file_and_first_line() -> None:
    text = "\n-- who\nCREATE TABLE a (x);\n\n  INSERT INTO a\nVALUES (1); INSERT INTO a VALUES (2);\n"
    found = split_statements(text, "library/seed.sql")
    assert [(s.sql, s.file, s.line) for s in found] == [
        ("CREATE TABLE a (x);", "library/seed.sql", 3),
        ("INSERT INTO a\nVALUES (1);", "library/seed.sql", 5),
        ("INSERT INTO a VALUES (2);", "library/seed.sql", 6),
    ]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO a VALUES ('one; two');",
        "INSERT INTO a VALUES ('it''s; fine');",
        "INSERT INTO a VALUES ('a -- b; /* c');",
        'CREATE TABLE "a;b" (x);',
        "CREATE TABLE `a;b` (x);",
        "CREATE TABLE [a;'b] (x);",
        "SELECT 1 -- one; and 'more\n, 2;",
        "SELECT 1 /* one; isn't\n it */ , 2;",
        "SELECT 6/2-1;",
    ],
)
def test_semicolon_in_quotes_or_comment_ends_nothing(statement: str) -> None:
    assert split(f"{statement}\nSELECT 2;") == [statement, "SELECT 2;"]


@pytest.mark.parametrize(
    "make", ["CREATE TRIGGER", "create temp trigger", "CREATE /* ; */ TEMPORARY\nTRIGGER"]
)
def test_trigger_is_one_statement(make: str) -> None:
    trigger = (
        f"{make} t AFTER INSERT ON a BEGIN\n  UPDATE a SET x = CASE WHEN x THEN 1 ELSE 2 END;\n"
        "  DELETE FROM a WHERE x = 'END';\nEND -- of it\n;"
    )
    assert split(f"{trigger} SELECT 1;") == [trigger, "SELECT 1;"]


def test_table_called_trigger_is_no_trigger() -> None:
    assert split('CREATE TABLE trigger_log (x); CREATE TABLE "TRIGGER" (x);') == [
        "CREATE TABLE trigger_log (x);",
        'CREATE TABLE "TRIGGER" (x);',
    ]


def test_last_statement_needs_no_semicolon() -> None:
    assert split("SELECT 1;\nSELECT 2 -- done") == ["SELECT 1;", "SELECT 2"]


@pytest.mark.parametrize("text", ["", " \n\t", "-- nothing", "/* nothing; */", ";;\n;"])
def test_text_without_statements(text: str) -> None:
    assert split(text) == []


@pytest.mark.parametrize("opening", ["'", '"', "`", "[", "/*"])
def test_unclosed_quote_is_named_with_its_line(opening: str) -> None:
    with pytest.raises(UnclosedText) as raised:
        split_statements(f"SELECT 1;\nSELECT\n {opening} never; closed\n;", "a.sql")
    assert (raised.value.opening, raised.value.line) == (opening, 3)


def test_statements_are_those_that_sqlite_sees() -> None:
    text = (
        "CREATE TABLE a (x TEXT DEFAULT ';');\n"
        "CREATE TRIGGER t AFTER INSERT ON a BEGIN INSERT INTO b VALUES (new.x); SELECT 1; END;\n"
        "CREATE TABLE b (x); INSERT INTO a VALUES ('a;''b'), (x'00')\n"
    )
    database = sqlite3.connect(":memory:")
    for statement in split(text):
        database.execute(statement)
    assert database.execute("SELECT x FROM b").fetchall() == [("a;'b",), (b"\0",)]
    database.close()


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO a VALUES ('" + ";" * 2_000_000 + "');",
        "CREATE TRIGGER t AFTER INSERT ON a BEGIN " + "SELECT 1;" * 60_000 + " END;",
        "/" * 300_000,
    ],
    ids=["text", "trigger", "noise"],
)
def test_time_grows_with_the_length_only(text: str) -> None:
    start = time.process_time()
    assert len(split(text)) == 1
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    ("sql", "word"),
    [(" -- a\nselect 1", "SELECT"), ("With x AS (SELECT 1) SELECT 1", "WITH"), ("(1)", ""), ("", "")],
)
def test_first_word_is_found_after_comments(sql: str, word: str) -> None:
    assert first_word(sql) == word
