"""Renames in Python: variables, parameters, functions, attributes, methods and classes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

import tree_sitter

from tools.edit_model.edit import Edit, Replacement
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import SourceFile, Unit
from tools.edit_model.transforms.python_code import (
    Definition,
    Function,
    Place,
    Transform,
    ask,
    definition,
    edit,
    function_node,
    is_docstring,
    is_method,
    names_in,
    node_text,
    parameters,
    pick,
    place,
    table,
    walk_tree,
)
from tools.edit_model.transforms.words import fresh, new_name, style_of

_SCOPES: Final = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)
_DYNAMIC: Final = {"locals", "vars", "eval", "exec", "globals"}


def _name_uses(file: SourceFile, root: tree_sitter.Node, name: str) -> list[tree_sitter.Node]:
    """The identifiers of that text below the node that name a variable: no attributes, no keywords of a call."""
    wanted, found = name.encode(), []
    for node in walk_tree(root):
        parent = node.parent
        if node.type != "identifier" or node.text != wanted or parent is None:
            continue
        if parent.type == "attribute" and parent.child_by_field_name("attribute") == node:
            continue
        if parent.type == "keyword_argument" and parent.child_by_field_name("name") == node:
            continue
        found.append(node)
    return found


def _ast_uses(root: ast.AST, name: str) -> int:
    return sum(
        (isinstance(node, ast.Name) and node.id == name)
        or (isinstance(node, ast.arg) and node.arg == name)
        or (isinstance(node, ast.ExceptHandler) and node.name == name)
        for node in ast.walk(root)
    )


def _binds(scope: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Each name bound at or below the scope, and by what: the scope, or the node of an import and the like."""
    stack: list[tuple[ast.AST, ast.AST]] = [(child, scope) for child in ast.iter_child_nodes(scope)]
    while stack:
        node, owner = stack.pop()
        match node:
            case ast.Name(ctx=ast.Store() | ast.Del()):
                yield owner, node.id
            case ast.arg():
                yield owner, node.arg
            case ast.ExceptHandler(name=str(name)):
                yield owner, name
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node, node.name
                yield owner, node.name
            case ast.Import() | ast.ImportFrom():
                for alias in node.names:
                    yield alias, (alias.asname or alias.name).split(".")[0]
            case ast.Global() | ast.Nonlocal():
                for name in node.names:
                    yield node, name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                yield node, name
            case ast.NamedExpr(target=ast.Name(id=name)):
                yield node, name
            case _:
                pass
        inner = node if isinstance(node, _SCOPES) else owner
        stack.extend((child, inner) for child in ast.iter_child_nodes(node))


def _free_of_mentions(unit: Unit, function: Function, name: str, but_docstring: bool = False) -> bool:
    """Whether no comment or string of the function has the name as a word."""
    node = function_node(unit.file, function)
    if node is None:
        return False
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    docstring_line = function.body[0].lineno - 1 if but_docstring and is_docstring(function.body, function) else -1
    for part in walk_tree(node):
        if part.type == "comment" and word.search(node_text(part)):
            return False
        if part.type == "string_content" and part.start_point.row != docstring_line:
            text = node_text(part)
            if len(text) > len(name) and part.named_child_count == 0 and word.search(text):
                return False
    return True


def _renamed(unit: Unit, function: Function, name: str, new: str) -> list[Replacement] | None:
    """The function's uses of a name it binds; None where a scope inside has it too, or it is no plain variable."""
    scopes = {owner for owner, bound in _binds(function) if bound == name}
    node = function_node(unit.file, function)
    if scopes != {function} or node is None:
        return None
    outside = [*function.decorator_list, *function.args.defaults, *function.args.kw_defaults, function.returns]
    outside += [arg.annotation for arg in ast.walk(function.args) if isinstance(arg, ast.arg)]
    if any(part is not None and _ast_uses(part, name) for part in outside):
        return None
    uses = _name_uses(unit.file, node, name)
    if len(uses) != _ast_uses(function, name):
        return None
    return [Replacement(use.start_byte, use.end_byte, new) for use in uses]


def _is_dynamic(function: Function) -> bool:
    return any(isinstance(node, ast.Name) and node.id in _DYNAMIC for node in ast.walk(function))


def _style(unit: Unit, name: str) -> str:
    style = style_of(name, "")
    if style in {"", "pascal"}:
        camel = any(style_of(other, "") == "camel" for other in re.findall(r"(?<![\w.])[a-z]+[A-Z]\w+", unit.text))
        style = "camel" if camel and "_" not in unit.text else "snake"
    return style


def rename_variable(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Renames a local variable of a function."""
    where = place(unit, phrasing)
    if where is None or _is_dynamic(where.function):
        return None
    function, random = where.function, phrasing.random
    arguments = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    names = sorted({name for owner, name in _binds(function) if owner is function} - arguments - {"_", "__"})
    names = [name for name in names if _free_of_mentions(unit, function, name)]
    if not names:
        return None
    old = random.choice(names)
    new = _new(unit, phrasing, old)
    uses = _renamed(unit, function, old, new)
    if not uses:
        return None
    a, b = phrasing.code(old), phrasing.code(new)
    instruction = ask(
        where,
        f"rename {a} to {b}<in>",
        f"rename the variable {a} to {b}<in>",
        f"rename the local variable {a} to {b}<in>",
        f"call the variable {b} instead of {a}<in>",
        f"change the name of {a} to {b}<in>",
        f"use {b} as the name for {a}<in>",
        f"the variable {a} should be called {b}<in>",
        f"don't call it {a}, call it {b}<in>",
        f"replace the variable name {a} with {b}<in>",
        f"rename {a} -> {b}<in>",
        f"rename variable: {a} => {b}<in>",
        f"the name {a} is bad, make it {b}<in>",
        f"rename local {a} as {b}<in>",
        f"give {a} a better name: {b}<in>",
        f"rename every {a} to {b}<in>",
        f"let {a} be named {b}<in>",
    )
    return edit("rename-variable", instruction, *uses)


def _new(unit: Unit, phrasing: Phrasing, old: str) -> str:
    random, taken = phrasing.random, names_in(unit)
    if random.random() < 0.1 and len(old) > 1:
        letter = random.choice("abcdefghijkmnpqrstuvwxyz")
        if letter not in taken:
            return letter
    return new_name(old, random, taken, _style(unit, old))


def rename_parameter(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Renames a parameter, in the docstring too where that describes it in one of the usual forms."""
    where = place(unit, phrasing)
    if where is None or _is_dynamic(where.function):
        return None
    function, random = where.function, phrasing.random
    names = [arg.arg for arg in parameters(function)]
    names += [arg.arg for arg in (function.args.vararg, function.args.kwarg) if arg]
    names = [name for name in names if _free_of_mentions(unit, function, name, but_docstring=True)]
    if not names:
        return None
    old = random.choice(names)
    new = _new(unit, phrasing, old)
    uses = _renamed(unit, function, old, new)
    mentions = _docstring_mentions(unit, function, old, new)
    if not uses or mentions is None or _called_with(function, old):
        return None
    a, b = phrasing.code(old), phrasing.code(new)
    instruction = ask(
        where,
        f"rename the parameter {a} to {b}<in>",
        f"rename parameter {a} to {b}<in>",
        f"rename the argument {a} to {b}<in>",
        f"rename {a} to {b}<in>",
        f"change the parameter name {a} to {b}<in>",
        f"the parameter {a} should be named {b}<in>",
        f"call the {a} parameter {b}<in>",
        f"rename param {a} -> {b}<in>",
        f"make the argument {a} be called {b}<in>",
        f"use {b} instead of {a} as the parameter name<in>",
        f"change argument {a} into {b}<in>",
        f"the argument {a} needs a better name, use {b}<in>",
        f"let the {a} argument be {b} from now on<in>",
    )
    return edit("rename-parameter", instruction, *uses, *mentions)


def _called_with(function: Function, name: str) -> bool:
    return any(isinstance(node, ast.keyword) and node.arg == name for node in ast.walk(function)) and any(
        (isinstance(node, ast.Name) and node.id == function.name)
        or (isinstance(node, ast.Attribute) and node.attr == function.name)
        for node in ast.walk(function)
    )


def _docstring_mentions(unit: Unit, function: Function, old: str, new: str) -> list[Replacement] | None:
    """Where the docstring describes the parameter; None where it mentions it in running text as well."""
    if not is_docstring(function.body, function):
        return []
    start, end = unit.file.span(function.body[0])
    text, name = unit.file.data[start:end], re.escape(old.encode())
    pattern = (
        rb":(?:param|type|parameter|arg|keyword)(?: \w+)? (%(n)s):|(?m:^)[ \t]*\*{0,2}(%(n)s)(?: ?\([^)\n]*\))? ?:"
        rb"|(?<!`)`{1,2}(%(n)s)`{1,2}(?!`)|(?<![*\w])\*(%(n)s)\*(?!\*)"
    ) % {b"n": name}
    found = []
    for match in re.finditer(pattern, text):
        group = next(index for index in range(1, 5) if match.group(index))
        found.append((match.start(group), match.end(group)))
    if len(found) != len(re.findall(rb"(?<!\w)%s(?!\w)" % name, text)):
        return None
    return [Replacement(start + first, start + last, new) for first, last in found]


def rename_function(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Renames the unit's function and its uses of itself."""
    function = definition(unit)
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) or function.name.startswith("__"):
        return None
    old, random = function.name, phrasing.random
    node = function_node(unit.file, function)
    if node is None or not _free_of_mentions(unit, function, old):
        return None
    new = new_name(old, random, names_in(unit), "camel" if style_of(old) == "camel" else "snake")
    spots = _definition_uses(unit, node, function, old)
    if spots is None:
        return None
    a, b = phrasing.code(old), phrasing.code(new)
    instruction = pick(
        phrasing,
        f"rename the function to {b}",
        f"rename {a} to {b}",
        f"rename this function to {b}",
        f"rename the function {a} to {b}",
        f"call this function {b}",
        f"change the function name to {b}",
        f"change the name from {a} to {b}",
        f"the function should be called {b}",
        f"rename it to {b}",
        f"name this {b} instead of {a}",
        f"rename to {b}",
        f"this function needs a better name: {b}",
        f"make {b} the name of this function",
    )
    return edit("rename-function", instruction, *(Replacement(s.start_byte, s.end_byte, new) for s in spots))


def _definition_uses(
    unit: Unit, node: tree_sitter.Node, function: Function, old: str
) -> list[tree_sitter.Node] | None:
    """The function's name in its definition and where it calls itself; None where what is meant isn't clear."""
    method = is_method(function) or bool(function.args.args and function.args.args[0].arg == "cls")
    name = node.child_by_field_name("name")
    decorated = any(_ast_uses(decorator, old) for decorator in function.decorator_list)
    if name is None or decorated or any(bound == old for _, bound in _binds(function)):
        return None
    found = [name]
    for use in walk_tree(node):
        parent = use.parent
        if use.type != "identifier" or use.text != old.encode() or use == name or parent is None:
            continue
        if parent.type == "keyword_argument" and parent.child_by_field_name("name") == use:
            continue
        if parent.type == "attribute" and parent.child_by_field_name("attribute") == use:
            owner = parent.child_by_field_name("object")
            if not method or owner is None or node_text(owner) not in {"self", "cls"}:
                return None
        elif method:
            return None
        found.append(use)
    return found


def _attributes(root: tree_sitter.Node) -> Iterator[tuple[tree_sitter.Node, str, str]]:
    """The name nodes of attributes, with the owner's and the attribute's text."""
    for node in walk_tree(root):
        if node.type == "attribute":
            owner, name = node.child_by_field_name("object"), node.child_by_field_name("attribute")
            if owner is not None and name is not None:
                yield name, node_text(owner), node_text(name)


def _strings(own: Definition) -> set[str]:
    return {
        word
        for node in ast.walk(own)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for word in re.findall(r"\w+", node.value)
    }


def _commented(root: tree_sitter.Node) -> set[str]:
    return {
        word for node in walk_tree(root) if node.type == "comment" for word in re.findall(r"\w+", node_text(node))
    }


def rename_attribute(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Renames an attribute of ``self`` throughout the unit."""
    own = definition(unit)
    node = function_node(unit.file, own) if own else None
    if own is None or node is None:
        return None
    uses = list(_attributes(node))
    called = {
        child.func.attr
        for child in ast.walk(own)
        if isinstance(child, ast.Call) and isinstance(child.func, ast.Attribute)
    }
    defined = {name for _, name in _binds(own)} if isinstance(own, ast.ClassDef) else set()
    foreign = {name for _, owner, name in uses if owner != "self"}
    names = sorted(
        {name for _, owner, name in uses if owner == "self"}
        - foreign - called - defined - _strings(own) - _commented(node)
    )  # fmt: skip
    names = [name for name in names if not name.startswith("__")]
    if not names:
        return None
    random = phrasing.random
    old = random.choice(names)
    new = new_name(old, random, names_in(unit), "upper" if old.isupper() else _style(unit, old))
    if random.random() < 0.2:
        changed = old.lstrip("_") if old.startswith("_") else f"_{old}"
        new = changed if changed not in names_in(unit) else new
    a, b = phrasing.code(f"self.{old}"), phrasing.code(f"self.{new}")
    c, d = phrasing.code(old), phrasing.code(new)
    instruction = pick(
        phrasing,
        f"rename {a} to {b}",
        f"rename the attribute {c} to {d}",
        f"rename the attribute {a} to {b}",
        f"change {a} to {b} everywhere",
        f"the attribute {c} should be called {d}",
        f"use {b} instead of {a}",
        f"replace {a} with {b}",
        f"rename the field {c} to {d}",
        f"rename the instance attribute {c} to {d}",
        f"call the {c} attribute {d}",
        f"rename attr {c} -> {d}",
        f"rename the member {c} to {d}",
        f"let the attribute {c} be named {d}",
    )
    spots = [Replacement(use.start_byte, use.end_byte, new) for use, owner, name in uses if name == old]
    return edit("rename-attribute", instruction, *spots)


def rename_method(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Renames a method of the unit's class where it is defined and called on ``self``."""
    own = definition(unit)
    node = function_node(unit.file, own) if own else None
    if not isinstance(own, ast.ClassDef) or node is None:
        return None
    methods = [n for n in own.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    every = [method.name for method in methods]
    uses = list(_attributes(node))
    foreign = {name for _, owner, name in uses if owner not in {"self", "cls", own.name}}
    mentioned = _strings(own) | _commented(node)
    chosen = [
        method for method in methods
        if not method.name.startswith("__") and every.count(method.name) == 1
        and method.name not in foreign | mentioned
        and not any(isinstance(n, ast.Name) and n.id == method.name for n in ast.walk(own))
    ]  # fmt: skip
    if not chosen:
        return None
    random = phrasing.random
    method = random.choice(chosen)
    old = method.name
    new = new_name(old, random, names_in(unit), "camel" if style_of(old) == "camel" else "snake")
    defined = function_node(unit.file, method)
    name_node = defined.child_by_field_name("name") if defined else None
    if name_node is None:
        return None
    a, b = phrasing.code(old), phrasing.code(new)
    instruction = pick(
        phrasing,
        f"rename the method {a} to {b}",
        f"rename {a} to {b}",
        f"rename method {a} -> {b}",
        f"call the method {b} instead of {a}",
        f"the method {a} should be called {b}",
        f"change the name of the {a} method to {b}",
        f"rename the {a} method to {b} and update its callers",
        f"rename {a} to {b} in this class",
        f"use the name {b} for the {a} method",
    )
    spots = [name_node, *(use for use, _, name in uses if name == old)]
    return edit("rename-method", instruction, *(Replacement(s.start_byte, s.end_byte, new) for s in spots))


def rename_class(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Renames the unit's class and its uses of itself."""
    own = definition(unit)
    node = function_node(unit.file, own) if own else None
    if not isinstance(own, ast.ClassDef) or node is None:
        return None
    old = own.name
    name_node = node.child_by_field_name("name")
    if old in _strings(own) | _commented(node) or name_node is None or any(n == old for _, n in _binds(own)):
        return None
    if any(name == old for _, _, name in _attributes(node)):
        return None
    random, taken = phrasing.random, names_in(unit)
    new = new_name(old, random, taken, "pascal") if random.random() < 0.7 else fresh(random, taken, "pascal", 2, 3)
    a, b = phrasing.code(old), phrasing.code(new)
    instruction = pick(
        phrasing,
        f"rename the class to {b}",
        f"rename the class {a} to {b}",
        f"rename {a} to {b}",
        f"call this class {b}",
        f"change the class name from {a} to {b}",
        f"the class should be called {b}",
        f"rename this class to {b}",
        f"name the class {b} instead of {a}",
        f"make {b} the name of the class",
    )
    spots = [name_node, *(use for use in _name_uses(unit.file, node, old) if use != name_node)]
    return edit("rename-class", instruction, *(Replacement(s.start_byte, s.end_byte, new) for s in spots))


def _loop_variable(where: Place) -> tuple[ast.AST, ast.Name] | None:
    comprehensions = [
        node for node in ast.walk(where.function)
        if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp)
        and len(node.generators) == 1 and isinstance(node.generators[0].target, ast.Name)
    ]  # fmt: skip
    if len(comprehensions) != 1:
        return None
    generator = comprehensions[0].generators[0]
    target = generator.target
    if not isinstance(target, ast.Name) or _ast_uses(generator.iter, target.id):
        return None
    return comprehensions[0], target


def rename_comprehension_variable(unit: Unit, phrasing: Phrasing) -> Edit | None:
    """Renames the variable of the function's one comprehension."""
    where = place(unit, phrasing)
    found = _loop_variable(where) if where else None
    if where is None or found is None:
        return None
    comprehension, target = found
    old = target.id
    start, end = unit.file.span(comprehension)  # type: ignore[arg-type]
    node = function_node(unit.file, where.function)
    scopes = {owner for owner, bound in _binds(where.function) if bound == old}
    if node is None or not scopes <= {comprehension, where.function}:
        return None
    uses = [use for use in _name_uses(unit.file, node, old) if start <= use.start_byte < end]
    if len(uses) != _ast_uses(comprehension, old):
        return None
    new = _new(unit, phrasing, old)
    a, b = phrasing.code(old), phrasing.code(new)
    noun = "generator expression" if isinstance(comprehension, ast.GeneratorExp) else "comprehension"
    instruction = ask(
        where,
        f"rename {a} to {b} in the {noun}<in>",
        f"in the {noun}, rename {a} to {b}<in>",
        f"use {b} instead of {a} as the variable of the {noun}<in>",
        f"call the {noun} variable {b}<in>",
        f"rename the {noun} variable to {b}<in>",
        f"change the loop variable of the {noun} from {a} to {b}<in>",
        f"name the variable in the {noun} {b}<in>",
    )
    return edit(
        "rename-comprehension-variable", instruction, *(Replacement(u.start_byte, u.end_byte, new) for u in uses)
    )


TRANSFORMS: Final[dict[str, Transform]] = table(
    ("rename-variable", rename_variable),
    ("rename-parameter", rename_parameter),
    ("rename-function", rename_function),
    ("rename-attribute", rename_attribute),
    ("rename-method", rename_method),
    ("rename-class", rename_class),
    ("rename-comprehension-variable", rename_comprehension_variable),
)
