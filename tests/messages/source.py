"""Every error and warning in the source, by reading it: its class, its text with a hole for each value, its key."""

import ast
import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "sumwise"
SNAPSHOTS = Path(__file__).parent
BUILT_IN = {"ArithmeticError", "AttributeError", "KeyError", "NotImplementedError", "TypeError", "ValueError"}
FEWEST_LETTERS = 7  # of its own: a text with fewer, "{}: {}", would stand for any other
DEEPEST = 4  # calls from a message to where its text is written
REWORDED = 0.7  # from this likeness on, a new text is another wording of one that is gone
MOST_INLINE = 4  # texts that a part of a message may be: where more are possible, it is a hole
DROPPED = "a an and are as at be but by can for from give given has have if in is it its of on one or s so t than that"
DROPPED += " the their there these they this to was were where which with"


@dataclass(frozen=True)
class Message:
    kind: str  # the class
    text: str  # {} is a value, {a|b} one of two texts
    package: str


def messages() -> list[Message]:
    """Every message in the source, in its order; a text that stands in two places counts where it stands first."""
    source = Source({path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))})
    by_text: dict[str, Message] = {}
    for path, tree in source.trees.items():
        parts = path.relative_to(SOURCE).parts
        package = parts[0] if len(parts) > 1 else "sumwise"
        for kind, text in source.of_module(tree):
            if own_letters(text) >= FEWEST_LETTERS:
                by_text.setdefault(text, Message(kind, text, package))
    return list(by_text.values())


class Source:
    """The modules, what calls what by name, and the classes of errors and warnings."""

    def __init__(self, trees: dict[Path, ast.Module]):
        self.trees = trees
        self.functions: dict[str, list[ast.FunctionDef]] = {}
        self.calls: dict[str, list[ast.Call]] = {}
        self.scope: dict[ast.AST, ast.AST] = {}  # the innermost function of a node, or its module
        self.module: dict[ast.AST, ast.Module] = {}
        self.assigned: dict[tuple[ast.AST, str], list[ast.expr]] = {}  # what a name of a function or module is set to
        self.calls_in: dict[ast.AST, list[ast.Call]] = {}
        self.raised = set()
        self.imports: dict[ast.Module, set[str]] = {tree: set() for tree in trees.values()}  # stems of modules
        bases: dict[str, set[str]] = {}
        for tree in trees.values():
            self.enter(tree, tree, tree)
        for node in self.scope:
            if isinstance(node, ast.ClassDef):
                bases[node.name] = {last_name(base) for base in node.bases}
            elif isinstance(node, ast.Call):
                self.calls.setdefault(last_name(node.func), []).append(node)
                self.calls_in.setdefault(self.module[node], []).append(node)
            elif isinstance(node, ast.ImportFrom):
                self.imports[self.module[node]] |= {(node.module or "").split(".")[-1], *(n.name for n in node.names)}
            elif isinstance(node, ast.Raise):
                self.raised.add(node.exc)
            elif isinstance(node, ast.FunctionDef):
                self.functions.setdefault(node.name, []).append(node)
            elif isinstance(node, ast.Assign):
                for name in (target.id for target in node.targets if isinstance(target, ast.Name)):
                    self.assigned.setdefault((self.scope[node], name), []).append(node.value)
        self.kinds = {"SumwiseError", "UserWarning"}
        while more := {name for name, above in bases.items() if above & self.kinds} - self.kinds:
            self.kinds |= more

    def enter(self, node: ast.AST, scope: ast.AST, module: ast.Module) -> None:
        """Note function and module of a node and of all in it."""
        self.scope[node], self.module[node] = scope, module
        for child in ast.iter_child_nodes(node):
            self.enter(child, node if isinstance(node, ast.FunctionDef) else scope, module)

    def of_module(self, tree: ast.Module) -> Iterator[tuple[str, str]]:
        """Yield class and text of each message of a module."""
        composer = self.functions["nowhere"][0]  # checks.nowhere makes messages of what its callers give
        for call in (c for c in self.calls_in.get(tree, []) if c.args and self.scope[c] is not composer):
            name, second = last_name(call.func), call.args[1] if len(call.args) > 1 else None
            hint = next((word.value for word in call.keywords if word.arg == "hint"), second)
            if ast.unparse(call.func) == "warnings.warn":
                kind = ast.unparse(second).split(".")[-1] if second else "UserWarning"
                yield from ((kind, text) for text in self.texts(call.args[0]))
            elif name == "nowhere" and len(call.args) > 2:
                advice = [word.value for word in call.keywords if word.arg == "hint"] + call.args[3:]
                said = self.hinted(call.args[1], ". First: {}.", advice[0] if advice else None)
                yield from (("DataError", text) for text in [*said, *self.parts_passed(call.args[1])])
            elif name in self.kinds or (name in BUILT_IN and call in self.raised):
                yield from (
                    (name, text) for text in self.hinted(call.args[0], "", hint if name in self.kinds else None)
                )
                yield from ((name, text) for text in self.parts_passed(call.args[0]))

    def parts_passed(self, text: ast.expr) -> list[str]:
        """Texts that callers give as parts of a message and that are too many to stand in it."""
        values = text.values if isinstance(text, ast.JoinedStr) else []
        parts = [part.value for part in values if isinstance(part, ast.FormattedValue)]
        passed = [self.named(part, 0) or [] for part in parts if isinstance(part, ast.Name)]
        return [phrase + "{ Hint: {}|}" for phrases in passed if len(phrases) > MOST_INLINE for phrase in phrases]

    def hinted(self, what: ast.expr, more: str, hint: ast.expr | None) -> Iterator[str]:
        """Yield the texts of a message with those of its hint."""
        for text in self.texts(what):
            for advice in self.texts(hint) if hint else [""]:
                yield text + more + ("{ Hint: {}|}" if advice == "{}" else f" Hint: {advice}" if advice else "")

    def texts(self, node: ast.expr, depth: int = 0) -> list[str]:
        """Texts that an expression may be; a hole where they aren't written in the source."""
        return (self.written(node, depth) if depth < DEEPEST else None) or ["{}"]

    def written(self, node: ast.expr, depth: int) -> list[str] | None:
        """Return the texts, or None if the expression is no text that is written in the source."""
        match node:
            case ast.Constant(value=str(value)):
                return ["{}".join(re.sub(r"[{}|\\]", r"\\\g<0>", part) for part in value.split("{}"))]
            case ast.JoinedStr():
                return [self.joined(node.values, depth)]
            case ast.BinOp(op=ast.Add()):
                return [self.joined([node.left, node.right], depth)]
            case ast.IfExp():
                return [*self.texts(node.body, depth), *self.texts(node.orelse, depth)]
            case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(value)), attr="format")):
                return [re.sub(r"\{[^}]*\}", "{}", value)]
            case ast.Call(func=ast.Name(id=name)):
                return self.returned(name, depth)
            case ast.Name():
                return self.named(node, depth)
        return None

    def joined(self, parts: list[ast.expr], depth: int) -> str:
        """Join the parts of a text; one that may be several is {a|b}."""
        whole = ""
        for part in parts:
            value, texts = part, ["{}"]  # what is written with !r is a value
            if isinstance(part, ast.FormattedValue):
                value = part.value if part.conversion < 0 else None
            if value is not None:
                texts = list(dict.fromkeys(self.texts(value, depth)))
            varied = "{" + "|".join(texts) + "}" if len(texts) <= MOST_INLINE else "{}"
            whole += texts[0] if len(texts) == 1 else varied
        return whole

    def returned(self, name: str, depth: int) -> list[str] | None:
        """Texts that the one function of a name returns."""
        functions = self.functions.get(name, [])
        if len(functions) != 1:
            return None
        returns = [n for n in ast.walk(functions[0]) if isinstance(n, ast.Return) and self.scope[n] is functions[0]]
        return self.all_written([n.value for n in returns], depth)

    def named(self, name: ast.Name, depth: int) -> list[str] | None:
        """Texts of a name: what its function or module assigns, or what callers give as that parameter."""
        scope, module = self.scope[name], self.module[name]
        if isinstance(scope, ast.FunctionDef) and name.id in parameters(scope):
            return self.passed(scope, name.id, depth)
        values = self.assigned.get((scope, name.id)) or self.assigned.get((module, name.id))
        return self.all_written(values, depth) if values else None

    def passed(self, function: ast.FunctionDef, name: str, depth: int) -> list[str] | None:
        """Texts of three words or more that callers give as a parameter; a hole for what is not written there."""
        if function.name.startswith("__"):
            return None
        place = parameters(function).index(name)
        arguments = function.args
        with_default = arguments.args[len(arguments.args) - len(arguments.defaults) :] + arguments.kwonlyargs
        defaults = zip(with_default, arguments.defaults + arguments.kw_defaults)
        texts = [t for a, d in defaults if a.arg == name and d for t in self.texts(d, depth + 1)]
        for call in self.calls_of(function):
            given = [word.value for word in call.keywords if word.arg == name] + call.args[place : place + 1]
            texts += self.texts(given[0], depth + 1) if given else []
        texts = [text if text.count(" ") > 1 and own_letters(text) else "{}" for text in texts]
        return list(dict.fromkeys(texts))

    def calls_of(self, function: ast.FunctionDef) -> list[ast.Call]:
        """Calls by the name of a function; if others have that name, from its module and from those that import it."""
        calls, home = self.calls.get(function.name, []), self.module[function]
        if len(self.functions[function.name]) == 1:
            return calls
        stem = next(path.stem for path, tree in self.trees.items() if tree is home)
        of_object = function.args.args[:1] and function.args.args[0].arg == "self"
        return [
            call
            for call in calls
            if self.module[call] is home
            or (of_object and isinstance(call.func, ast.Attribute))
            or stem in self.imports[self.module[call]]
        ]

    def all_written(self, values: list, depth: int) -> list[str] | None:
        """Texts of these expressions if each is written in the source."""
        texts = [self.written(value, depth + 1) if value is not None and depth < DEEPEST else None for value in values]
        return None if None in texts else [text for options in texts if options for text in options]


def last_name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def parameters(function: ast.FunctionDef) -> list[str]:
    """Names of parameters by position, without an object's own."""
    names = [a.arg for a in function.args.posonlyargs + function.args.args]
    return (names[1:] if names[:1] in (["self"], ["cls"]) else names) + [a.arg for a in function.args.kwonlyargs]


def pieces(text: str) -> list[str]:
    """Return the texts between the holes, which are in a message whatever its values.

    >>> pieces("{} is {a|one of {}}, \\\\{so\\\\}. {}")
    [' is ', ', {so}. ']
    """
    text = re.sub(r"\\.", lambda sign: chr(0xE000 + ord(sign[0][1])), text)  # out of the way of the signs of holes
    while (outer := re.sub(r"\{[^{}]*\}", "\0", text)) != text:
        text = outer
    return [re.sub("[\ue000-\ue0ff]", lambda sign: chr(ord(sign[0]) - 0xE000), p) for p in text.split("\0") if p]


def own_letters(text: str) -> int:
    """Count the letters that are in a message whatever its values."""
    return sum(map(str.isalpha, "".join(pieces(text)).replace("Hint:", "")))


def pattern(text: str) -> str:
    """Return the regular expression of a text with holes."""
    signs = {"{}": "(.*?)", "{": "(", "|": "|", "}": ")", "": ""}
    parts = re.split(r"(\\.|\{\}|[{|}])", text)
    return "".join(signs[p] if p in signs else re.escape(p[1:] if p[0] == "\\" else p) for p in parts)


def read() -> dict[str, Message]:
    """Read the snapshots: key -> message."""
    known = {}
    for path in sorted(SNAPSHOTS.glob("*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            key, kind, text = line.split(" ", 2)
            known[key] = Message(kind, text.replace("\\n", "\n"), path.stem)
    return known


def keyed(current: list[Message], known: dict[str, Message]) -> dict[str, Message]:
    """Give every message its key: the one it had, also under another wording, or one made of its first words."""
    of_text = {message.text: key for key, message in known.items()}
    keys = {of_text[m.text]: m for m in current if m.text in of_text}
    fresh = [message for message in current if message.text not in of_text]
    gone = {key: message for key, message in known.items() if key not in keys}
    alike = sorted(
        ((likeness(old, new), key, n) for key, old in gone.items() for n, new in enumerate(fresh)), reverse=True
    )
    kept: dict[int, str] = {}
    for ratio, key, n in alike:
        if ratio >= REWORDED and n not in kept and key not in kept.values():
            kept[n] = key
    for n, message in enumerate(fresh):
        keys[kept[n] if n in kept else new_key(message.text, keys.keys() | known.keys())] = message
    return keys


def likeness(one: Message, other: Message) -> float:
    """How alike the fixed parts of two messages of a package are, from 0 to 1."""
    if one.package != other.package:
        return 0.0
    return difflib.SequenceMatcher(None, "{}".join(pieces(one.text)), "{}".join(pieces(other.text))).ratio()


def new_key(text: str, taken) -> str:
    """Make a key of the first words of a text: three, and more, or those of its hint, until no other message has it."""
    said, _, hint = " ".join(pieces(text)).replace("'", "").lower().partition("hint:")
    words, advice = ([w for w in re.findall("[a-z]+", part) if w not in DROPPED.split()] for part in (said, hint))
    words = words if len(words) > 2 else words + advice
    words = words if len(words) > 1 else re.findall("[a-z]+", said + hint)
    longer = [*(words[:n] for n in range(3, 6)), *(words[:3] + advice[:n] for n in range(1, 5))]
    numbered = ([*words[:3], str(n)] for n in range(2, 1_000))
    return next(key for key in map("-".join, (*longer, *numbered)) if key and key not in taken)


def lines(keys: dict[str, Message]) -> dict[str, str]:
    """Return the snapshots as text, by package."""
    packages: dict[str, list[str]] = {}
    for key, message in sorted(keys.items()):
        packages.setdefault(message.package, []).append(f"{key} {message.kind} " + message.text.replace("\n", "\\n"))
    return {package: "\n".join(said) + "\n" for package, said in packages.items()}


if __name__ == "__main__":
    texts = lines(keyed(messages(), read()))
    for path in SNAPSHOTS.glob("*.txt"):
        path.unlink()
    for package, text in texts.items():
        (SNAPSHOTS / f"{package}.txt").write_text(text, encoding="utf-8")
