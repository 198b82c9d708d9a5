"""Edits of Python classes and decorators."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Final

from tools.edit_model.edit import Edit, Replacement
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import Unit
from tools.edit_model.transforms.python_code import (
    Definition,
    Transform,
    ask,
    definition,
    edit,
    function_node,
    indent,
    indented,
    is_docstring,
    line,
    literal,
    names_in,
    own_lines,
    pick,
    place,
    quote,
    source,
    step,
    table,
)
from tools.edit_model.transforms.python_parameters import a_default, a_type
from tools.edit_model.transforms.words import fresh, number, word

_DECORATORS: Final = (
    "staticmethod", "property", "cache", "functools.cache", "lru_cache(maxsize=None)", "contextmanager", "override",
    "abstractmethod", "functools.lru_cache", "pytest.mark.slow", "pytest.fixture", "torch.no_grad()",
    "login_required",
    "timed", "deprecated", "retry", "classmethod", "typing.final", "jit", "cached_property",
    "functools.wraps(func)",
    "atexit.register", "pytest.mark.asyncio", "contextlib.contextmanager", "synchronized", "memoize", "profile",
)  # fmt: skip


def add_decorator(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Adds the decorator given just above the definition, or above its other decorators where it says so."""
    where = place(unit, phrasing)
    if where is None:
        return None
    random, function, file = phrasing.random, where.function, unit.file
    taken = names_in(unit)
    where = replace(where, name="") if where.name == "this function" else where
    name = random.choice(_DECORATORS) if random.random() < 0.5 else fresh(random, taken, "snake", 1, 2)
    if random.random() < 0.25 and name.isidentifier():
        key = fresh(random, taken, "snake", 1, 1)
        argument = random.choice(
            (literal(word(random), quote(unit)), str(number(random, 3)), f"{key}=True", f"{key}={number(random, 3)}")
        )
        name = random.choice((f"{name}({argument})", f"app.{name}({argument})"))
    given = [source(file, decorator) for decorator in function.decorator_list]
    if name in given or name.split("(")[0] in {decorator.split("(")[0] for decorator in given}:
        return None
    spot, at = "", file.line_starts[function.lineno - 1]
    if given:
        above = random.random() < 0.5
        spot = random.choice((" above the other decorators", " as the outermost decorator", " on top") if above else
                             (" right above the def", " below the other decorators",
                             " as the innermost decorator"))  # fmt: skip
        at = file.line_starts[function.decorator_list[0].lineno - 1] if above else at
    if line(file, file.data.count(b"\n", 0, at)).strip().startswith("#"):
        return None
    a = phrasing.code(f"@{name}")
    instruction = ask(
        where,
        f"add the decorator {a}{spot}<in>" if not where.name else f"add the decorator {a}{spot} to {where.name}",
        f"decorate it with {a}{spot}<in>",
        f"add {a}{spot}<in>",
        f"put {a} on it{spot}<in>",
        f"add a {a} decorator{spot}<in>",
        f"use the decorator {a}{spot}<in>",
        f"apply {a}{spot}<in>",
        f"give it the decorator {a}{spot}<in>",
        f"mark it with {a}{spot}<in>",
    )
    return edit("add-decorator", instruction, Replacement(at, at, indented(f"@{name}", indent(file, function))))


def remove_decorator(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Removes a decorator."""
    where = place(unit, phrasing)
    if where is None or not where.function.decorator_list:
        return None
    decorator = phrasing.random.choice(where.function.decorator_list)
    text = source(unit.file, decorator)
    if decorator.lineno != decorator.end_lineno or line(unit.file, decorator.lineno).strip() != f"@{text}":
        return None
    only = len(where.function.decorator_list) == 1
    a = phrasing.code("@" + (text if phrasing.random.random() < 0.6 else text.split("(")[0]))
    wordings = [
        f"remove the decorator {a}<in>",
        f"remove {a}<in>",
        f"drop the {a} decorator<in>",
        f"delete the decorator {a}<in>",
        f"get rid of {a}<in>",
        f"take off the {a} decorator<in>",
        f"strip the decorator {a}<in>",
    ]
    if only:
        wordings = ["remove the decorator<in>", "drop the decorator<in>", *wordings]
    start, end = unit.file.line_starts[decorator.lineno - 1], unit.file.line_starts[decorator.lineno]
    if source(unit.file, where.function.decorator_list[0]).split("(")[0] == "property" and len(a) < 3:
        return None
    return edit("remove-decorator", ask(where, *wordings), Replacement(start, end, ""))


def _class(unit: Unit) -> ast.ClassDef | None:
    own = definition(unit)
    return own if isinstance(own, ast.ClassDef) else None


def _bases(own: ast.ClassDef) -> list[ast.expr]:
    return own.bases if not own.keywords else []


def change_base(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Changes a base class."""
    own = _class(unit)
    if own is None or not _bases(own):
        return None
    base = phrasing.random.choice(own.bases)
    old, new = source(unit.file, base), fresh(phrasing.random, names_in(unit), "pascal", 1, 2)
    a, b, c = phrasing.code(old), phrasing.code(new), phrasing.code(own.name)
    instruction = pick(
        phrasing,
        f"change the base class {a} to {b}",
        f"inherit from {b} instead of {a}",
        f"derive {c} from {b} instead of {a}",
        f"make {b} the base class instead of {a}",
        f"replace the base class {a} with {b}",
        f"subclass {b} instead of {a}",
        f"use {b} as the base class in place of {a}",
        f"let {c} extend {b} rather than {a}",
    )
    return edit("change-base-class", instruction, Replacement(*unit.file.span(base), new))


def add_base(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Adds a base class, last."""
    own = _class(unit)
    node = function_node(unit.file, own) if own else None
    name = node.child_by_field_name("name") if node else None
    if own is None or own.keywords or name is None:
        return None
    new = fresh(phrasing.random, names_in(unit), "pascal", 1, 2)
    b, c = phrasing.code(new), phrasing.code(own.name)
    if own.bases:
        at = unit.file.span(own.bases[-1])[1]
        change = Replacement(at, at, f", {new}")
        last = " last" if len(own.bases) > 1 else " too"
    elif unit.file.data[name.end_byte : name.end_byte + 1] == b":":
        change, last = Replacement(name.end_byte, name.end_byte, f"({new})"), ""
    else:
        return None
    instruction = pick(
        phrasing,
        f"add the base class {b}",
        f"make {c} a subclass of {b}{last}",
        f"inherit from {b}{last}",
        f"let {c} inherit from {b}{last}",
        f"derive the class from {b}{last}",
        f"add {b} as a base class",
        f"add {b} to the bases",
        f"have {c} extend {b}{last}",
    )
    return edit("add-base-class", instruction, change)


def add_class_attribute(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Adds a class attribute as the first thing after the docstring, before a blank line if a method follows."""
    own = _class(unit)
    if own is None:
        return None
    random, file = phrasing.random, unit.file
    first = own.body[1] if is_docstring(own.body, own) and len(own.body) > 1 else own.body[0]
    lines = own_lines(file, first)
    number_ = (
        first.lineno
        if not isinstance(first, _DEFINITIONS) or not first.decorator_list
        else first.decorator_list[0].lineno
    )
    if lines is None or is_docstring([first], own) or isinstance(first, ast.Pass):
        return None
    if line(file, number_ - 1).strip().startswith("#"):
        return None
    typed = isinstance(first, ast.AnnAssign)
    hint = a_type(random) if typed else ""
    name = fresh(random, names_in(unit), random.choice(("snake", "snake", "upper")), 1, 2)
    value = a_default(random, quote(unit), hint)
    text = f"{name}: {hint} = {value}" if hint else f"{name} = {value}"
    a, b, c = phrasing.code(text), phrasing.code(name), phrasing.code(value)
    wordings = [
        f"add the class attribute {a} at the top",
        f"add a class attribute {a} at the top of the class",
        f"put {a} at the top of the class body",
        f"start the class with {a}",
        f"add {a} as the first class attribute",
        f"insert {a} as the first line of the class body",
        f"define {a} at the top of the class",
    ]
    if not hint:
        wordings = [
            f"add a class attribute {b} with value {c} at the top",
            f"add a class variable {b} set to {c} at the top",
            *wordings,
        ]
    made = indented(text, indent(file, own.body[0])) + ("\n" if isinstance(first, _DEFINITIONS) else "")
    return edit("add-class-attribute", pick(phrasing, *wordings), Replacement(lines[0], lines[0], made))


_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def add_method(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Adds a short method at the end of the class, behind a blank line."""
    own = _class(unit)
    if own is None:
        return None
    last = own.body[-1]
    lines = own_lines(unit.file, last)
    if lines is None or not isinstance(last, _DEFINITIONS):
        return None
    random, code, taken = phrasing.random, phrasing.code, names_in(unit)
    attributes = sorted({
        n.attr for n in ast.walk(own)
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == "self"
    } - {n.name for n in own.body if isinstance(n, _DEFINITIONS)})  # fmt: skip
    attribute = random.choice(attributes) if attributes else fresh(random, taken)
    name, mark = fresh(random, taken), quote(unit)
    typed = any(isinstance(n, _FUNCTIONS) and n.returns is not None for n in own.body)
    hint = f" -> {a_type(random)}" if typed else ""
    form = random.choice(("repr", "len", "property", "method", "returning", "setter", "empty"))
    other = fresh(random, taken | {name})
    text, value, wordings = "", "", list[str]()
    if form == "repr" and "__repr__" not in taken:
        inside = "'" if mark == '"' else '"'
        value = f"f{mark}{own.name}({attribute}={{self.{attribute}!r}}){mark}" if inside else ""
        text = f"def __repr__(self){' -> str' if typed else ''}:\n\treturn {value}"
        wordings = [f"add a {code('__repr__')} that returns {code(value)}",
            f"add a __repr__ method returning {code(value)}",
                    f"define __repr__, it should return {code(value)}", f"add a repr that returns {code(value)}",
                    f"give the class a __repr__ that returns {code(value)}"]  # fmt: skip
        if typed:
            wordings = [w + ", with its return type" for w in wordings]
    elif form == "len" and "__len__" not in taken:
        text = f"def __len__(self){' -> int' if typed else ''}:\n\treturn len(self.{attribute})"
        value = code(f"len(self.{attribute})")
        wordings = [f"add a {code('__len__')} that returns {value}", f"add a __len__ method returning {value}",
                    f"define __len__ as {value}", f"make len() work: return {value}",
                    f"give the class a __len__ that returns {value}"]  # fmt: skip
        if typed:
            wordings = [w + ", with its return type" for w in wordings]
    elif form == "property":
        attribute = attribute if attribute.startswith("_") else fresh(random, taken)
        name = attribute.lstrip("_") if attribute.startswith("_") and attribute.lstrip("_") not in taken else name
        text = f"@property\ndef {name}(self){hint}:\n\treturn self.{attribute}"
        of_type = f" of type {code(hint[4:])}" if hint else ""
        wordings = [f"add a property {code(name)}{of_type} that returns {code('self.' + attribute)}",
                    f"add a read-only property {code(name)}{of_type} for {code('self.' + attribute)}",
                    f"add a property {code(name)}{of_type} returning {code('self.' + attribute)}",
                    f"expose {code('self.' + attribute)} as the property {code(name)}{of_type}",
                    f"define a property {code(name)}{of_type} for {code('self.' + attribute)}"]  # fmt: skip
    elif form == "setter":
        name = f"set_{other}"
        argument = f"{other}: {a_type(random)}" if typed else other
        signature = f"def {name}(self, {argument}){' -> None' if typed else ''}"
        text = f"{signature}:\n\tself.{other} = {other}"
        wordings = [f"add a method {code(signature)} that sets {code('self.' + other)}",
                    f"add {code(signature)}, it sets {code('self.' + other)} to {code(other)}",
                    f"define {code(signature)} which assigns {code(other)} to {code('self.' + other)}",
                    f"add a setter {code(signature)} for {code('self.' + other)}"]  # fmt: skip
    elif form in {"method", "returning"}:
        signature = f"def {name}(self){hint}"
        value = random.choice((f"self.{attribute}", f"len(self.{attribute})", f"self.{attribute} is None",
            f"not self.{attribute}",
                               f"self.{attribute}.{other}()", a_default(random, mark),
                               f"list(self.{attribute})"))  # fmt: skip
        text = f"{signature}:\n\treturn {value}"
        shown = code(signature) if typed else code(name)
        wordings = [f"add a method {shown} that returns {code(value)}",
            f"add a method {shown} returning {code(value)}",
                    f"define a method {shown}, it returns {code(value)}",
                    f"give the class a method {shown} that returns {code(value)}",
                    f"add at the end a method {shown} that returns {code(value)}",
                    f"the class needs a method {shown} that returns {code(value)}"]  # fmt: skip
    elif form == "empty":
        signature = f"def {name}(self, {other}){' -> None' if typed else ''}"
        text = f"{signature}:\n\traise NotImplementedError"
        wordings = [f"add a method {code(signature)} that raises NotImplementedError",
                    f"add an unimplemented method {code(signature)}, raising NotImplementedError",
                    f"stub out {code(signature)} with raise NotImplementedError",
                    f"add a stub {code(signature)} that raises NotImplementedError"]  # fmt: skip
    if not text or not wordings:
        return None
    made = "\n\n" + indented(text.replace("\t", _step(unit, own)), indent(unit.file, last))[:-1]
    return edit("add-method", pick(phrasing, *wordings), Replacement(lines[1] - 1, lines[1] - 1, made))


_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


def _step(unit: Unit, own: Definition) -> str:
    return step(unit.file, own)


def remove_method(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Removes a method with the blank lines before it."""
    own = _class(unit)
    if own is None or len(own.body) < 3:
        return None
    names = [n.name for n in own.body if isinstance(n, _FUNCTIONS)]
    chosen = [n for n in own.body[1:] if isinstance(n, _FUNCTIONS) and names.count(n.name) == 1]
    if not chosen:
        return None
    method = phrasing.random.choice(chosen)
    lines = own_lines(unit.file, method)
    if lines is None or f"self.{method.name}" in unit.text or lines[1] - lines[0] > 1500:
        return None
    start = lines[0]
    while unit.file.data[start - 2 : start] == b"\n\n":
        start -= 1
    previous = unit.file.data.rfind(b"\n", 0, start - 1) + 1
    if unit.file.data[previous:start].strip().startswith(b"#") or start == lines[0]:
        return None
    a = phrasing.code(method.name)
    instruction = pick(
        phrasing,
        f"remove the method {a}",
        f"delete the method {a}",
        f"drop the {a} method",
        f"get rid of the method {a}",
        f"remove {a} from the class",
        f"delete {a}",
        f"we don't need the method {a}, remove it",
        f"take the {a} method out",
    )
    return edit("remove-method", instruction, Replacement(start, lines[1], ""))


TRANSFORMS: Final[dict[str, Transform]] = table(
    ("add-decorator", add_decorator),
    ("remove-decorator", remove_decorator),
    ("change-base-class", change_base),
    ("add-base-class", add_base),
    ("add-class-attribute", add_class_attribute),
    ("add-method", add_method),
    ("remove-method", remove_method),
)
