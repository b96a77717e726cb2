"""A schema as the tables of a problem file, and back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sumwise.errors import visible
from sumwise.schema.declared import Schema
from sumwise.schema.problem import Problem, value

BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")  # keys that TOML takes without quotes
SECOND = "second_file"  # of [data], while questions are open


def line(key: str, given: Any) -> str:
    """A key and its value."""
    return f"{key if BARE_KEY.fullmatch(key) else value(key)} = {value(given)}"


def table_lines(tables: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The lines of tables, without those that are empty."""
    lines = []
    for table, entries in tables.items():
        if entries:
            lines += ["", f"[{table}]", *(line(key, given) for key, given in entries.items())]
    return lines


def schema_lines(schema: Schema, answers: Mapping[str, Any] | None = None) -> list[str]:
    """The tables of a schema; of one with open questions, the questions with their options, to be answered."""
    if schema.questions:
        return _question_lines(schema, answers or {})
    lines = table_lines({"data": schema.data, "columns": schema.columns, "options": schema.options})
    lines += table_lines({"names": schema.names})
    for contest in schema.contests:
        lines += ["", "[[contest]]", *(line(key, given) for key, given in contest.items())]
    return lines


def _question_lines(schema: Schema, answers: Mapping[str, Any]) -> list[str]:
    files = [v for k, v in schema.data.items() if k == "file" or k.endswith("_file")]
    data = {"file": files[0], **({SECOND: files[1]} if len(files) > 1 else {})} if files else {}
    lines = ["", "[data]", *(line(k, v) for k, v in data.items())]
    lines += ["", "[answers]  # take the # from one answer to each question"]
    lines += [line(k, v) for k, v in answers.items()]
    for question in schema.questions:
        lines += ["", *(f"# {visible(part)}" for part in question.text.splitlines())]
        shown = [list(question.options)] if question.several else question.options
        lines += [f"# {line(question.key, option)}" for option in shown]
    return lines


def to_toml(schema: Schema) -> str:
    """What `Schema.to_toml` gives."""
    head = [f"# {visible(' '.join(remark.split()))}" for remark in schema.remarks]
    return "\n".join([*head, f"family = {value(schema.family)}", *schema_lines(schema)]) + "\n"


def from_toml(text: str) -> Schema:
    """What `Schema.from_toml` gives."""
    return schema_of(Problem.parse(text))


def schema_of(problem: Problem) -> Schema:
    """The schema of a problem."""
    contests = tuple(problem.values.get("contest", []))
    return Schema(problem.family, problem.data, problem.columns, contests, problem.options, names=problem.names)


def problem_text(values: Mapping[str, Any]) -> str:
    """A problem file of values."""
    plain = [line(k, v) for k, v in values.items() if not isinstance(v, dict) and k != "contest"]
    plain += table_lines({k: v for k, v in values.items() if isinstance(v, dict)})
    for contest in values.get("contest", []):
        plain += ["", "[[contest]]", *(line(key, given) for key, given in contest.items())]
    return "\n".join(plain) + "\n"
