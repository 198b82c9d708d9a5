"""Edits of Python signatures: parameters, defaults and type hints."""

from __future__ import annotations

import ast
import re
from random import Random
from typing import Final

import tree_sitter

from tools.edit_model.edit import Edit, Replacement
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import SourceFile, Unit
from tools.edit_model.transforms.python_code import (
    Function,
    Place,
    Transform,
    ask,
    edit,
    function_node,
    is_docstring,
    literal,
    names_in,
    node_text,
    parameters,
    place,
    quote,
    source,
    table,
)
from tools.edit_model.transforms.words import fresh, number, phrase, word

TYPES: Final = (
    "int", "str", "float", "bool", "bytes", "object", "list[str]", "list[int]", "dict[str, int]", "dict[str, str]",
    "dict[str, Any]", "tuple[int, ...]", "tuple[int, int]", "tuple[str, int]", "set[str]", "set[int]", "str | None",
    "int | None", "float | None", "bool | None", "bytes | None", "list[str] | None", "Path", "Path | None",
    "datetime",
    "Any", "Callable[[], None]", "Callable[..., Any]", "Callable[[str], bool]", "Iterable[str]", "Iterable[int]",
    "Iterator[str]", "Sequence[str]", "Sequence[int]", "Mapping[str, str]", "Mapping[str, Any]", "Optional[str]",
    "Optional[int]", "Union[str, bytes]", "list[dict[str, Any]]", "dict[str, list[int]]", "str | int",
    "frozenset[str]",
    "Decimal", "UUID", "Path | str", "np.ndarray", "torch.Tensor", "re.Pattern[str]", "type", "list", "dict",
    "tuple",
)  # fmt: skip


def a_type(random: Random) -> str:
    """A type as an annotation, now and then one of the project's own."""
    if random.random() < 0.12:
        own = fresh(random, set(), "pascal", 1, 2)
        return random.choice((own, own, f"list[{own}]", f"{own} | None"))
    return random.choice(TYPES)


def a_default(random: Random, mark: str, hint: str = "") -> str:
    """A default value, one that fits the type hint where there is a simple one."""
    values = {
        "int": str(number(random, 10)),
        "float": repr(number(random, 1.0)),
        "bool": random.choice(("True", "False")),
        "str": literal(random.choice((word(random), "", phrase(random, 1, 2))), mark),
        "bytes": "b" + literal(word(random), mark),
    }
    if hint:
        bare = hint.removesuffix(" | None")
        if bare in values and (bare == hint or random.random() < 0.3):
            return values[bare]
        return "None" if "None" in hint or "Optional" in hint or bare not in values else values[bare]
    kind = random.choice(("None", "None", "int", "bool", "bool", "float", "str", "int", "tuple", "upper"))
    if kind == "tuple":
        return "()"
    if kind == "upper":
        return fresh(random, set(), "upper", 2, 2)
    return values.get(kind, kind)


def _nodes(where: Place) -> list[tree_sitter.Node] | None:
    """The parameters as written, the marks ``*`` and ``/`` too; None with comments between them."""
    node = function_node(where.file, where.function)
    listed = node.child_by_field_name("parameters") if node else None
    if listed is None or any(child.type == "comment" for child in listed.children):
        return None
    return listed.named_children


def _node_name(node: tree_sitter.Node) -> str:
    match = re.match(r"\*{0,2}\w*", node_text(node))
    return match.group() if match else ""


def _has_default(node: tree_sitter.Node) -> bool:
    return node.type in {"default_parameter", "typed_default_parameter"}


def _joined(file: SourceFile, node: tree_sitter.Node, several: bool) -> str:
    """What stands between this parameter and the next: a line end where each has its line."""
    start = file.data.rfind(b"\n", 0, node.start_byte) + 1
    lead = file.data[start : node.start_byte]
    if several and not lead.strip():
        return ",\n" + lead.decode()
    return ", "


def _one_per_line(nodes: list[tree_sitter.Node], file: SourceFile) -> bool | None:
    """Whether each parameter has its own line; None where some share a line and others don't."""
    rows = [node.start_point.row for node in nodes]
    begins = [not file.data[file.data.rfind(b"\n", 0, n.start_byte) + 1 : n.start_byte].strip() for n in nodes]
    if len(set(rows)) == len(rows) and all(begins):
        return True
    return False if len(set(rows)) == 1 and not any(begins) else None


def add_parameter(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Adds a parameter: last, first, after a named one, or keyword-only."""
    where = place(unit, phrasing)
    nodes = _nodes(where) if where else None
    if where is None or nodes is None or "@property" in unit.text or "overload" in unit.text:
        return None
    random, file = phrasing.random, unit.file
    several = _one_per_line(nodes, file) if nodes else False
    if several is None:
        return None
    typed = sum("type" in n.type for n in nodes)
    hint = a_type(random) if (typed or (not nodes and random.random() < 0.5) or random.random() < 0.1) else ""
    name = fresh(random, names_in(unit), "snake", 1, 2)
    plain = [n for n in nodes if n.type not in _MARKS and not node_text(n).startswith("*")]
    star = next(
        (i for i, n in enumerate(nodes) if n.type in {"keyword_separator", "list_splat_pattern"} or _splat(n, 1)),
        None,
    )
    double = nodes[-1] if nodes and _splat(nodes[-1], 2) else None
    own = [n for n in plain if _node_name(n) not in {"self", "cls", "mcs"}]
    first_default = next((i for i, n in enumerate(nodes) if _has_default(n)), None)
    needs_default = star is None and first_default is not None
    forms = ["last"]
    if own and first_default is None and star is None:
        forms += ["first", "after"]
    if star is None and nodes:
        forms.append("keyword-only")
    form = random.choice(forms)
    default = a_default(random, quote(unit), hint) if needs_default or random.random() < 0.6 else ""
    if form in {"first", "after"}:
        default = ""
    written = name + (f": {hint}" if hint else "")
    full = written + ((f" = {default}" if hint else f"={default}") if default else "")
    at = _insertion(nodes, form, own, double, random)
    if at is None:
        return None
    previous, following, said = at
    if star is not None and form == "last":
        said = " as keyword-only" if random.random() < 0.5 else ""
    text = f"*, {full}" if form == "keyword-only" else full
    if form == "keyword-only" and several:
        return None
    if previous is not None:
        replacement = Replacement(previous.end_byte, previous.end_byte, _joined(file, previous, several) + text)
    elif following is not None:
        between = _joined(file, following, several)
        replacement = Replacement(following.start_byte, following.start_byte, text + between)
    else:
        node = function_node(file, where.function)
        listed = node.child_by_field_name("parameters") if node else None
        if listed is None or listed.end_byte - listed.start_byte != 2:
            return None
        replacement = Replacement(listed.start_byte + 1, listed.start_byte + 1, text)
    return edit("add-parameter", _ask_for(where, name, hint, default, full, said, form), replacement)


_MARKS: Final = {"keyword_separator", "positional_separator"}


def _splat(node: tree_sitter.Node, stars: int) -> bool:
    text = node_text(node)
    return text.startswith("*" * stars) and not text.startswith("*" * (stars + 1))


def _insertion(
    nodes: list[tree_sitter.Node],
    form: str,
    own: list[tree_sitter.Node],
    double: tree_sitter.Node | None,
    random: Random,
) -> tuple[tree_sitter.Node | None, tree_sitter.Node | None, str] | None:
    """The parameter it goes after or else before, and how its place is said."""
    if form == "first":
        index = nodes.index(own[0])
        said = random.choice((" as the first parameter", " in front", f" before {_node_name(own[0])}"))
        return (nodes[index - 1] if index else None), own[0], said
    if form == "after":
        chosen = random.choice(own)
        return chosen, None, random.choice((f" after {_node_name(chosen)}", f" right after {_node_name(chosen)}"))
    ends = ["", " at the end", " as the last parameter"]
    if double is not None:
        index = nodes.index(double)
        said = random.choice((f" before {_node_name(double)}", ""))
        return (nodes[index - 1] if index else None), double, said
    return (nodes[-1] if nodes else None), None, random.choice(ends) if form == "last" else ""


def _ask_for(where: Place, name: str, hint: str, default: str, full: str, said: str, form: str) -> str:
    code = where.code
    kind = "keyword-only " if form == "keyword-only" else ""
    verbatim = [
        f"add a {kind}parameter {code(full)}{said}<in>",
        f"add the {kind}parameter {code(full)}{said}<in>",
        f"give it a {kind}parameter {code(full)}{said}<in>",
        f"take another {kind}argument {code(full)}{said}<in>",
        f"add {kind}{code(full)} to the signature{said}<in>",
        f"extend the signature with {kind}{code(full)}{said}<in>",
        f"add {kind}argument {code(full)}{said}<in>",
        f"put a {kind}parameter {code(full)}{said}<in>",
    ]
    of_type = f" of type {code(hint)}" if hint else ""
    by_default = f" with default {code(default)}" if default else ""
    by_default_2 = f", default {code(default)}" if default else ""
    spoken = [
        f"add a {kind}parameter {code(name)}{of_type}{by_default}{said}<in>",
        f"add a new {kind}argument {code(name)}{of_type}{by_default}{said}<in>",
        f"add a {kind}parameter named {code(name)}{of_type}{by_default_2}{said}<in>",
        f"add an extra {kind}parameter {code(name)}{of_type}{by_default}{said}<in>",
        f"introduce a {kind}parameter {code(name)}{of_type}{by_default}{said}<in>",
        f"accept a {kind}parameter {code(name)}{of_type}{by_default}{said}<in>",
        f"let it take a {kind}parameter {code(name)}{of_type}{by_default}{said}<in>",
    ]
    return ask(where, *(verbatim if where.random.random() < 0.45 else spoken))


def _used(function: Function, name: str) -> bool:
    inside = [node for statement in function.body for node in ast.walk(statement)]
    return any(isinstance(node, ast.Name) and node.id == name for node in inside)


def _mentioned(where: Place, name: str) -> bool:
    start = where.file.offset(where.function.body[0].lineno, 0)
    assert where.function.end_lineno is not None
    body = where.file.source(start, where.file.line_starts[where.function.end_lineno])
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", body) is not None


def remove_parameter(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Removes a parameter that the body does not use."""
    where = place(unit, phrasing)
    nodes = _nodes(where) if where else None
    if where is None or not nodes:
        return None
    names = [arg.arg for arg in parameters(where.function)]
    chosen = [(i, n) for i, n in enumerate(nodes) if _node_name(n) in names and not _mentioned(where, _node_name(n))]
    if not chosen or any(
        isinstance(node, ast.Call) and _calls_itself(where.function, node) for node in ast.walk(where.function)
    ):
        return None
    index, node = phrasing.random.choice(chosen)
    if index:
        replacement = Replacement(nodes[index - 1].end_byte, node.end_byte, "")
    elif len(nodes) > 1:
        replacement = Replacement(node.start_byte, nodes[1].start_byte, "")
    else:
        replacement = Replacement(node.start_byte, node.end_byte, "")
        if node.parent is None or node_text(node.parent)[1:-1] != node_text(node):
            return None
    name = phrasing.code(_node_name(node))
    instruction = ask(
        where,
        f"remove the parameter {name}<in>",
        f"remove the unused parameter {name}<in>",
        f"drop the {name} parameter<in>",
        f"delete the argument {name}<in>",
        f"get rid of the {name} argument<in>",
        f"remove {name} from the signature<in>",
        f"remove argument {name}<in>",
        f"take {name} out of the parameters<in>",
        f"the parameter {name} isn't used, remove it<in>",
        f"drop {name} from the parameter list<in>",
    )
    return edit("remove-parameter", instruction, replacement)


def _calls_itself(function: Function, call: ast.Call) -> bool:
    func = call.func
    return (isinstance(func, ast.Name) and func.id == function.name) or (
        isinstance(func, ast.Attribute) and func.attr == function.name
    )


def defaults_of(function: Function) -> list[tuple[ast.arg, ast.expr]]:
    """The parameters that have defaults, with these."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    found = list(zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True))
    return found + [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]


def change_default(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Changes a parameter's default."""
    where = place(unit, phrasing)
    pairs = defaults_of(where.function) if where else []
    pairs = [
        (arg, value) for arg, value in pairs if isinstance(value, ast.Constant | ast.Name | ast.Tuple | ast.UnaryOp)
    ]
    if where is None or not pairs:
        return None
    random = phrasing.random
    arg, value = random.choice(pairs)
    old = source(unit.file, value)
    if "\n" in old or len(old) > 40 or (is_docstring(where.function.body, where.function) and (
        re.search(rf"\b{arg.arg}\b.*default", ast.get_docstring(where.function) or "", re.I)
    )):  # fmt: skip
        return None
    constant = value.value if isinstance(value, ast.Constant) else ...
    mark = quote(unit)
    new = a_default(random, mark)
    if isinstance(constant, bool) and random.random() < 0.8:
        new = str(not constant)
    elif isinstance(constant, int | float) and not isinstance(constant, bool) and random.random() < 0.8:
        new = repr(number(random, constant))
    elif isinstance(constant, str) and random.random() < 0.8:
        new = literal(
            random.choice((word(random), word(random), phrase(random, 1, 3))), old[-1] if old[-1] in "'\"" else mark
        )
    if new == old:
        return None
    a, b, c = phrasing.code(arg.arg), phrasing.code(new), phrasing.code(old)
    instruction = ask(
        where,
        f"change the default of {a} to {b}<in>",
        f"change the default of {a} from {c} to {b}<in>",
        f"make {b} the default for {a}<in>",
        f"set the default value of {a} to {b}<in>",
        f"let {a} default to {b}<in>",
        f"use {b} as the default for {a}<in>",
        f"use {b} instead of {c} as the default of {a}<in>",
        f"default {a} to {b}<in>",
        f"the default for {a} should be {b}<in>",
        f"switch the default of {a} to {b}<in>",
        f"change default: {a}={new}<in>",
        f"have {a} be {b} when it isn't given<in>",
    )
    return edit("change-default", instruction, Replacement(*unit.file.span(value), new))


def add_default(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Gives a parameter a default where the language allows one."""
    where = place(unit, phrasing)
    nodes = _nodes(where) if where else None
    if where is None or not nodes:
        return None
    given = {arg.arg for arg, _ in defaults_of(where.function)}
    chosen = [arg for arg in parameters(where.function) if arg.arg not in given]
    if not chosen:
        return None
    random = phrasing.random
    arg = chosen[-1] if random.random() < 0.7 else random.choice(chosen)
    hint = source(unit.file, arg.annotation) if arg.annotation else ""
    value = a_default(random, quote(unit), hint)
    end = unit.file.span(arg)[1]
    a, b = phrasing.code(arg.arg), phrasing.code(value)
    instruction = ask(
        where,
        f"give {a} a default of {b}<in>",
        f"add a default of {b} to {a}<in>",
        f"make {a} optional with default {b}<in>",
        f"let {a} default to {b}<in>",
        f"set a default value of {b} for the parameter {a}<in>",
        f"make {b} the default for {a}<in>",
        f"default {a} to {b}<in>",
        f"add the default {b} for {a}<in>",
        f"make the argument {a} optional, default {b}<in>",
    )
    return edit("add-default", instruction, Replacement(end, end, f" = {value}" if hint else f"={value}"))


def remove_default(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Makes a parameter required."""
    where = place(unit, phrasing)
    pairs = defaults_of(where.function) if where else []
    if where is None or not pairs:
        return None
    arg, value = phrasing.random.choice(pairs)
    a = phrasing.code(arg.arg)
    instruction = ask(
        where,
        f"remove the default of {a}<in>",
        f"make {a} required<in>",
        f"drop the default value of {a}<in>",
        f"remove the default from the parameter {a}<in>",
        f"make the argument {a} mandatory<in>",
        f"delete the default for {a}<in>",
        f"turn {a} into a required parameter<in>",
        f"take away the default of {a}<in>",
    )
    start, end = unit.file.span(arg)[1], unit.file.span(value)[1]
    if "\n" in unit.file.source(start, end):
        return None
    return edit("remove-default", instruction, Replacement(start, end, ""))


TRANSFORMS: Final[dict[str, Transform]] = table(
    ("add-parameter", add_parameter),
    ("remove-parameter", remove_parameter),
    ("change-default", change_default),
    ("add-default", add_default),
    ("remove-default", remove_default),
)
