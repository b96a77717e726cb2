"""A fitted model as an ONNX graph in double precision: raw columns in, probabilities out (extra ``onnx``).

Every raw column is one input of N values: text as strings (an empty one is missing), numbers as doubles (NaN is
missing). A level becomes its code, a term's weight is gathered by the codes of its attributes, and what no table has
adds 0, as in `predict_proba`.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from sumwise import checks
from sumwise.encoding.merged import Merged
from sumwise.encoding.rules import BASE, PRIME, SALT_STEP, Cuts, Levels, Target
from sumwise.errors import DataError
from sumwise.extras import require
from sumwise.maxent.export import encoding_rules
from sumwise.maxent.fitted_model import LogLinearModel
from sumwise.maxent.sparse_terms import full_table

MOST_CELLS = 2**22  # of a term, which the graph holds in full
OPSETS = (("", 17), ("ai.onnx.ml", 3))


def onnx_model(model: LogLinearModel) -> Any:
    """The graph; see `MaxEntClassifier.to_onnx`."""
    graph = _Graph()
    schema, lay = model.schema, model.layout
    names = schema.domain.attributes
    codes = [_code(graph, schema, a) for a in names[: len(lay.sizes)]]
    codes += [_cross(graph, schema, a, codes) for a in names[len(lay.sizes) :]]
    scores = graph.constant(model.parameters.offsets[None, :] - model.parameters.offsets[0])
    for t, term in enumerate(lay.terms):
        values = model.parameters.theta[:, lay.term_starts[t] : lay.term_starts[t + 1]]
        if values.any():
            scores = graph.add("Add", scores, _term(graph, lay, t, [codes[a] for a in term], values))
    graph.add("Softmax", scores, name="probabilities", axis=1)
    classes = [checks.plain(c) for c in schema.classes]
    return graph.model(len(classes), {"label": schema.label, "classes": classes, "encoding": encoding_rules(schema)})


class _Graph:
    """Nodes, constants and inputs while they are collected; names are made here."""

    def __init__(self) -> None:
        self.onnx = require("onnx")
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: dict[str, Any] = {}

    def constant(self, value: Any) -> str:
        """The name of a constant: whole numbers as int64, others as double."""
        array = np.asarray(value)
        array = array.astype(np.int64 if array.dtype.kind in "iub" else np.float64)
        name = f"k{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def add(self, kind: str, *given: str, name: str | None = None, domain: str = "", **options: Any) -> str:
        """The name of a new node's output."""
        out = name or f"n{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, list(given), [out], domain=domain, **options))
        return out

    def input(self, column: str, text: bool) -> str:
        """The name of the input that holds a raw column."""
        kind = self.onnx.TensorProto.STRING if text else self.onnx.TensorProto.DOUBLE
        if self.inputs.setdefault(column, kind) != kind:
            raise DataError(
                f"Column {column!r} is text in one rule and a number in another.", hint="use predict_proba."
            )
        return f"c_{column}"

    def model(self, n_classes: int, about: dict[str, Any]) -> Any:
        helper, double = self.onnx.helper, self.onnx.TensorProto.DOUBLE
        inputs = [helper.make_tensor_value_info(f"c_{c}", kind, ["n"]) for c, kind in self.inputs.items()]
        output = helper.make_tensor_value_info("probabilities", double, ["n", n_classes])
        graph = helper.make_graph(self.nodes, "sumwise", inputs, [output], self.constants)
        opsets = [helper.make_opsetid(*o) for o in OPSETS]
        made = helper.make_model(graph, opset_imports=opsets, producer_name="sumwise", ir_version=8)
        helper.set_model_props(made, {"sumwise": json.dumps(about, default=str)})
        self.onnx.checker.check_model(made)
        return made


def _code(graph: _Graph, schema: Any, attribute: str) -> str:
    """Level codes (N,) of an attribute; -1 where its value has none."""
    if schema.encoding is not None and attribute in schema.encoding:
        return _rule_code(graph, schema.encoding[attribute], attribute)
    levels = [checks.plain(v) for v in schema.domain.levels(attribute)]
    missing = levels.index(None) if None in levels else -1
    return _looked_up(graph, attribute, [(v, i) for i, v in enumerate(levels) if v is not None], missing, -1)


def _rule_code(graph: _Graph, rule: Any, attribute: str) -> str:
    if isinstance(rule, Merged):
        inner = _rule_code(graph, rule.rule, attribute)
        found = graph.add("Gather", graph.constant(rule.cells), graph.add("Max", inner, graph.constant([0])))
        known = graph.add("GreaterOrEqual", inner, graph.constant([0]))
        return graph.add("Where", known, found, graph.constant([rule.unseen_code]))
    if isinstance(rule, Cuts):
        column = graph.input(rule.column, text=False)
        above = graph.add(
            "GreaterOrEqual", _upright(graph, column), graph.constant(np.array([rule.edges], dtype=float))
        )
        code = _row_sums(graph, graph.add("Cast", above, to=graph.onnx.TensorProto.INT64))
        return graph.add("Where", graph.add("IsNaN", column), graph.constant([rule.missing_code]), code)
    if isinstance(rule, (Levels, Target)):
        cells = range(len(rule.values)) if isinstance(rule, Levels) else rule.cells
        return _looked_up(graph, rule.column, list(zip(rule.values, cells)), rule.missing_code, rule.unseen_code)
    raise DataError(
        f"{attribute!r} is encoded by {type(rule).__name__}, which ONNX can't compute.",
        hint="score such models with predict_proba, or encode by levels, cuts or target.",
    )


def _looked_up(graph: _Graph, column: str, pairs: list, missing: int, unseen: int) -> str:
    kinds = {isinstance(v, str) for v, _ in pairs}
    if len(kinds) > 1:
        raise DataError(f"Levels of {column!r} are text and numbers, which no ONNX tensor holds.", hint="use one kind.")
    if kinds == {True}:
        keys = {"": missing} | dict(pairs)
        table = {"keys_strings": list(keys), "values_int64s": [int(c) for c in keys.values()]}
        name = graph.input(column, text=True)
        return graph.add("LabelEncoder", name, domain="ai.onnx.ml", default_int64=unseen, **table)
    name = graph.input(column, text=False)
    values, codes = np.array([[float(v) for v, _ in pairs]]), np.array([[int(c) for _, c in pairs]])
    same = graph.add("Cast", graph.add("Equal", _upright(graph, name), graph.constant(values)), to=7)  # int64
    found = _row_sums(graph, graph.add("Mul", same, graph.constant(codes - unseen)))
    code = graph.add("Add", found, graph.constant([unseen]))
    return graph.add("Where", graph.add("IsNaN", name), graph.constant([missing]), code)


def _upright(graph: _Graph, name: str) -> str:
    return graph.add("Unsqueeze", name, graph.constant([1]))


def _row_sums(graph: _Graph, name: str) -> str:
    return graph.add("ReduceSum", name, graph.constant([1]), keepdims=0)


def _cross(graph: _Graph, schema: Any, attribute: str, codes: list[str]) -> str:
    """The cell of a hashed cross, `cross_cell` step by step; -1 where a part is unknown."""
    rule, prime = schema.encoding[attribute], graph.constant([PRIME])
    parts = [codes[a] for a in schema.domain.axes(rule.of)]
    x = graph.constant([(SALT_STEP * rule.salt + 1) % PRIME])
    for part in parts:
        moved = graph.add(
            "Add", graph.add("Mul", graph.constant([BASE]), x), graph.add("Add", part, graph.constant([1]))
        )
        x = graph.add("Mod", moved, prime)
    square = graph.add("Mod", graph.add("Mul", x, x), prime)
    fourth = graph.add("Mod", graph.add("Mul", square, square), prime)
    fifth = graph.add("Mod", graph.add("Mul", fourth, x), prime)
    return graph.add("Where", _known(graph, parts), graph.add("Mod", fifth, graph.constant([rule.cells])),
                     graph.constant([-1]))  # fmt: skip


def _known(graph: _Graph, codes: list[str]) -> str:
    known = graph.add("GreaterOrEqual", codes[0], graph.constant([0]))
    for code in codes[1:]:
        known = graph.add("And", known, graph.add("GreaterOrEqual", code, graph.constant([0])))
    return known


def _term(graph: _Graph, lay: Any, t: int, codes: list[str], values: np.ndarray) -> str:
    """What a term adds to the score of every class, (N, K)."""
    shape = lay.shape(lay.terms[t])
    if np.prod(shape, dtype=float) > MOST_CELLS:
        raise DataError(
            f"A table of {np.prod(shape, dtype=float):,.0f} cells is too large for a graph, which holds it in full; up "
            f"to {MOST_CELLS:,} can be.",
            hint="score with predict_proba or to_sql, or merge_levels.",
        )
    table = np.stack([full_table(lay, t, v, 0.0 if lay.sparse_cells(t) is not None else None).ravel() for v in values])
    table = np.vstack([np.zeros(table.shape[1]), table]) if len(values) == 1 else table
    place = graph.constant([0])
    for code, size in zip(codes, shape):
        here = graph.add("Max", code, graph.constant([0]))
        place = graph.add("Add", graph.add("Mul", place, graph.constant([size])), here)
    found = graph.add("Gather", graph.constant(np.ascontiguousarray(table.T)), place)
    return graph.add("Where", _upright(graph, _known(graph, codes)), found, graph.constant(np.zeros((1, 1))))
