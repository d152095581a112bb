"""Agent World Model folders (gen_*.jsonl), loaded as they are.

What the generator wrote badly is the folder's problem; what it left unfinished (a scenario without tables, a
task without verifier) is left out and named, so that one scenario in a thousand does not stop the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from .awm_quoting import mend_quotes
from .draft import Draft
from .errors import Problem
from .fields import Fields, Place, Reader, T, array, expected, filled, is_list, obj, text, whole
from .files import read_json_lines
from .task import JSON, PythonCheck, Scenario, Statement, Task

SCENARIOS, TASKS, DATABASES = "gen_scenario.jsonl", "gen_tasks.jsonl", "gen_db.jsonl"
SAMPLES, ENVIRONMENTS = "gen_sample.jsonl", "gen_envs.jsonl"
CODE_VERIFIERS, JUDGED_VERIFIERS = "gen_verifier.pure_code.jsonl", "gen_verifier.jsonl"
REQUIRED = (ENVIRONMENTS, DATABASES, SAMPLES, TASKS)

_VERIFIER = re.compile(r"^def\s+(verify_\w*)\s*\(", re.MULTILINE)
_DEFAULT_VERIFIER = "verify_task_completion"


def is_awm_folder(path: Path) -> bool:
    return any((path / file).exists() for file in REQUIRED)


def scenario_name(written: str) -> str:
    """`Etsy Digital Downloads` is `etsy_digital_downloads`; empty if no letter or digit remains."""
    return re.sub(r"[^a-z0-9]+", "_", written.lower()).strip("_")


def read_awm_folder(path: Path) -> Draft:
    folder = _Folder(path)
    folder.read_scenarios()
    return folder.draft


@dataclass(slots=True)
class _Records:
    """One gen_*.jsonl: the line of each scenario. A scenario with several lines is in `repeated` as well."""

    file: str
    by_scenario: dict[str, Fields] = field(default_factory=dict[str, Fields])
    repeated: dict[str, Place] = field(default_factory=dict[str, Place])

    def add(self, scenario: str, fields: Fields) -> None:
        if scenario in self.by_scenario:
            self.repeated.setdefault(scenario, fields.place)
        else:
            self.by_scenario[scenario] = fields


class _Unfinished(Exception):
    """A scenario lacks what it takes to be a world."""

    def __init__(self, place: Place, reason: str) -> None:
        self.problem = Problem(place.file, place.line, place.field, reason)
        super().__init__(str(self.problem))


class _Folder:
    """Reads one AWM folder into a draft."""

    def __init__(self, path: Path) -> None:
        self.draft = Draft()
        self._path = path
        self._environments = self._records(ENVIRONMENTS)
        self._databases = self._records(DATABASES)
        self._samples = self._records(SAMPLES)
        self._instructions = self._records(TASKS)
        self._descriptions = self._records(SCENARIOS, key="name", required=False)
        self._verifiers = self._read_verifiers()

    def read_scenarios(self) -> None:
        if not self._environments.by_scenario and not self.draft.problems:
            self._place(ENVIRONMENTS).report("holds no scenarios")
        for name, environment in self._environments.by_scenario.items():
            try:
                self._read_scenario(name, environment)
            except _Unfinished as unfinished:
                self.draft.left_out.append(unfinished.problem)

    def _place(self, file: str) -> Place:
        return Place(self.draft.problems, str(self._path / file))

    def _records(self, file: str, key: str = "scenario", required: bool = True) -> _Records:
        records = _Records(file)
        if required or (self._path / file).exists():
            for fields in read_json_lines(self._path / file, self._place(file)):
                name = fields.required(key, _scenario)
                if name is not None:
                    records.add(name, fields)
        return records

    def _read_verifiers(self) -> dict[tuple[str, int], PythonCheck]:
        """By scenario and index of the task; the last one counts where the generator tried again."""
        verifiers: dict[tuple[str, int], PythonCheck] = {}
        if not (self._path / CODE_VERIFIERS).exists() and (self._path / JUDGED_VERIFIERS).exists():
            return verifiers
        for fields in read_json_lines(self._path / CODE_VERIFIERS, self._place(CODE_VERIFIERS)):
            scenario = fields.required("scenario", _scenario)
            index = fields.required("task_idx", whole)
            check = fields.optional("verification", _verification)
            if scenario is not None and index is not None and check is not None:
                verifiers[scenario, index] = check
        return verifiers

    def _read_scenario(self, name: str, environment: Fields) -> None:
        for records in (self._environments, self._databases, self._samples, self._instructions):
            _refuse_repeated(name, records)
        code = _finished(name, environment, "full_code", text)
        schema = self._schema(name, environment)
        seed = mend_quotes(self._seed(name, environment), schema)
        instructions = self._record(name, self._instructions, environment)
        prompts = _finished(name, instructions, "tasks", array(text)) or ()
        self._note_repairs(seed)
        title, description = self._title(name, environment)
        self.draft.scenarios[name] = Scenario(
            name,
            title,
            description,
            schema,
            seed,
            code or "",
            f"{ENVIRONMENTS}#{name}",
            strict_references=False,
        )
        self._read_tasks(name, prompts, instructions.place.key("tasks"))

    def _record(self, name: str, records: _Records, environment: Fields) -> Fields:
        if name not in records.by_scenario:
            raise _Unfinished(environment.place, f"scenario {name!r} is not in {records.file}")
        return records.by_scenario[name]

    def _title(self, name: str, environment: Fields) -> tuple[str, str]:
        described = self._descriptions.by_scenario.get(name)
        if described is None:
            return environment.values["scenario"], ""
        return described.values["name"], described.optional("description", text) or ""

    def _schema(self, name: str, environment: Fields) -> tuple[Statement, ...]:
        record = self._record(name, self._databases, environment)
        database = _finished(name, record, "db_schema", obj)
        tables = database.required("tables", array(_table)) if database else None
        if tables == ():
            raise _Unfinished(record.place, f"scenario {name!r} has no tables")
        return _statements(DATABASES, record, tables or ())

    def _seed(self, name: str, environment: Fields) -> tuple[Statement, ...]:
        record = self._record(name, self._samples, environment)
        rows = _finished(name, record, "sample_data", _sample_data)
        return _statements(SAMPLES, record, rows or ())

    def _note_repairs(self, seed: Iterable[Statement]) -> None:
        for statement in seed:
            if statement.repaired is not None:
                file = str(self._path / statement.file)
                row = f"a row of {statement.table!r}" if statement.table else "a row"
                self.draft.repairs.append(Problem(file, statement.line, None, f"{row}: {statement.repaired}"))

    def _read_tasks(self, scenario: str, prompts: Iterable[str], tasks: Place) -> None:
        for index, prompt in enumerate(prompts):
            check = self._verifiers.get((scenario, index))
            if check is None:
                self._leave_out(tasks.item(index), f"task {index} of {scenario!r} has no code verifier")
            elif not prompt.strip():
                self._leave_out(tasks.item(index), f"task {index} of {scenario!r} is empty")
            else:
                task_id = f"{scenario}/task-{index:03d}"
                self.draft.tasks[task_id] = Task(task_id, scenario, index, prompt, check, tags=("awm",))

    def _leave_out(self, place: Place, reason: str) -> None:
        self.draft.left_out.append(Problem(place.file, place.line, place.field, reason))


_Listed: TypeAlias = tuple[str | None, tuple[str, ...]]
"""A table, if it is known, and statements that make or fill it."""


def _statements(file: str, record: Fields, listed: Iterable[_Listed]) -> tuple[Statement, ...]:
    line = record.place.line or 1
    return tuple(
        Statement(sql, file, line, table) for table, statements in listed for sql in statements if sql.strip()
    )


def _refuse_repeated(scenario: str, records: _Records) -> None:
    """Raises _Unfinished: which of the lines goes with the other files' cannot be known."""
    if scenario in records.repeated:
        first = records.by_scenario[scenario].place.line
        reason = f"scenario {scenario!r} is on line {first} already: which of them is meant?"
        raise _Unfinished(records.repeated[scenario], reason)


def _finished(scenario: str, record: Fields, key: str, reader: Reader[T]) -> T | None:
    """What the generator made of this part. Raises _Unfinished where it made nothing."""
    if record.values.get(key) in (None, ""):
        raise _Unfinished(record.place.key(key), f"scenario {scenario!r} was left without it")
    return record.required(key, reader)


def _scenario(value: JSON, place: Place) -> str | None:
    written = filled(value, place)
    name = scenario_name(written) if written is not None else None
    if name == "":
        expected("a name with a letter or digit", written, place)
        return None
    return name


def _table(value: JSON, place: Place) -> _Listed | None:
    fields = obj(value, place)
    if fields is None:
        return None
    ddl = fields.required("ddl", text)
    indexes = fields.optional("indexes", array(text)) or ()
    return None if ddl is None else (fields.optional("name", text), (ddl, *indexes))


def _sample_data(value: JSON, place: Place) -> tuple[_Listed, ...] | None:
    """Rows by table: `{"tables": [...]}` or the list itself."""
    if is_list(value):
        return array(_rows)(value, place)
    fields = obj(value, place)
    return fields.required("tables", array(_rows)) if fields else None


def _rows(value: JSON, place: Place) -> _Listed | None:
    """The rows of one table, or a statement by itself."""
    if isinstance(value, str):
        return None, (value,)
    fields = obj(value, place)
    if fields is None:
        return None
    table = fields.optional("table_name", text)
    statements = fields.required("insert_statements", array(text))
    return None if statements is None else (table, statements)


def _verification(value: JSON, place: Place) -> PythonCheck | None:
    """The check, or None where the generator gave up on it (not reported: the task is left out)."""
    fields = obj(value, place) if value is not None else None
    written = fields.values.get("code") if fields else None
    code = text(written, fields.place.key("code")) if fields and written is not None else None
    if code is None or not code.strip():
        return None
    function = _VERIFIER.search(code)
    return PythonCheck(code, function[1] if function else _DEFAULT_VERIFIER)
