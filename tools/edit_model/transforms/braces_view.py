"""What the transformations of curly-brace languages ask about a unit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from random import Random
from typing import Final

import tree_sitter

from tools.edit_model.edit import Edit, Replacement
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import SourceFile, Unit, parser
from tools.edit_model.transforms.grammar import GRAMMAR, JAVASCRIPT, TYPESCRIPT, Grammar

Node = tree_sitter.Node

_PLAIN: Final = re.compile(r"[A-Za-z_$][\w$]*")


class View:
    """A unit of a curly-brace language, with its nodes at hand."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.file = unit.file
        self.language = unit.file.language
        self.grammar: Grammar = GRAMMAR[self.language]
        self.nodes: list[Node] = []
        self._fields: dict[int, str] = {}
        self._parents: dict[int, Node] = {}
        self._read()

    def _read(self) -> None:
        cursor = self.unit.node.walk()
        ancestors: list[Node] = []
        while True:
            node = cursor.node
            assert node is not None
            self.nodes.append(node)
            if ancestors:
                self._parents[node.id] = ancestors[-1]
                self._fields[node.id] = cursor.field_name or ""
            if cursor.goto_first_child():
                ancestors.append(node)
                continue
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return
                ancestors.pop()

    def of(self, types: Iterable[str]) -> list[Node]:
        """The named nodes of these types, in order."""
        wanted = frozenset(types)
        return [node for node in self.nodes if node.type in wanted and node.is_named]

    def parent(self, node: Node) -> Node | None:
        """The node's parent, if it is within the unit's node."""
        return self._parents.get(node.id)

    def field(self, node: Node) -> str:
        """The field the node has in its parent, or nothing."""
        return self._fields.get(node.id, "")

    def ancestors(self, node: Node) -> Iterator[Node]:
        """Its parents within the unit's node, nearest first."""
        parent = self.parent(node)
        while parent is not None:
            yield parent
            parent = self.parent(parent)

    def inside(self, node: Node, types: Iterable[str]) -> Node | None:
        """The nearest ancestor of these types."""
        return next((parent for parent in self.ancestors(node) if parent.type in types), None)

    def text(self, node: Node) -> str:
        """The node's source."""
        return text(node)

    @cached_property
    def words(self) -> set[str]:
        """Every word in the unit."""
        return set(_PLAIN.findall(self.unit.text))

    @cached_property
    def functions(self) -> list[Node]:
        """The functions in it that have a body in braces, with names or bound to one."""
        grammar = self.grammar
        found = []
        for node in self.of(grammar.functions | grammar.lambdas):
            body = node.child_by_field_name("body")
            if body is not None and body.type in grammar.blocks and self.name(node):
                found.append(node)
        return found

    def name_node(self, function: Node) -> Node | None:
        """The node of the function's name, which a variable may have given it."""
        if self.language == "c":
            node = function.child_by_field_name("declarator")
            while node is not None and node.type != "function_declarator":
                node = node.child_by_field_name("declarator")
            node = node and node.child_by_field_name("declarator")
            return node if node is not None and node.type == "identifier" else None
        name = function.child_by_field_name("name")
        if name is None and self.language in JAVASCRIPT:
            parent = self.parent(function)
            if parent is not None and parent.type == "variable_declarator":
                name = parent.child_by_field_name("name")
            elif parent is not None and parent.type == "pair":
                name = parent.child_by_field_name("key")
            elif parent is not None and parent.type == "assignment_expression":
                left = parent.child_by_field_name("left")
                if left is not None and left.type == "member_expression":
                    left = left.child_by_field_name("property")
                name = left
        if name is None or not _PLAIN.fullmatch(text(name)):
            return None
        return name

    def name(self, function: Node) -> str:
        """The function's name, or nothing."""
        node = self.name_node(function)
        return text(node) if node is not None else ""

    def body(self, function: Node) -> Node | None:
        """The function's body in braces."""
        body = function.child_by_field_name("body")
        return body if body is not None and body.type in self.grammar.blocks else None

    def function(self, node: Node) -> Node | None:
        """The nearest function with a name around it."""
        known = {function.id for function in self.functions}
        return next((parent for parent in self.ancestors(node) if parent.id in known), None)

    def scope(self, node: Node) -> Node:
        """The nearest function around it, with or without a name, or the unit's node."""
        return self.inside(node, self.grammar.functions | self.grammar.lambdas) or self.unit.node

    def statements(self, block: Node) -> list[Node]:
        """The statements of a block, without its comments."""
        if self.language == "go" and block.type == "block":
            inner = next((child for child in block.named_children if child.type == "statement_list"), None)
            if inner is None:
                return []
            block = inner
        return [child for child in block.named_children if child.type not in self.grammar.comments]

    @cached_property
    def named_once(self) -> set[str]:
        """The names that only one function of the unit has."""
        names = [self.name(function) for function in self.functions]
        return {name for name in names if names.count(name) == 1}

    def whole_lines(self, node: Node) -> tuple[int, int] | None:
        """The lines the node takes, with their line ends, if nothing else is on them (but a closing ``;``)."""
        return self.lines(node.start_byte, node.end_byte)

    def lines(self, start: int, end: int) -> tuple[int, int] | None:
        """The lines of these bytes if only blanks (and a ``;``) surround them there."""
        data = self.file.data
        first = data.rfind(b"\n", 0, start) + 1
        last = data.find(b"\n", end) + 1 or len(data)
        if data[first:start].strip() or data[end:last].strip() not in (b"", b";"):
            return None
        if first < self.unit.start or last > self.unit.end:
            return None
        return first, last

    def indent(self, node: Node) -> str:
        """The blanks its first line begins with."""
        return self.indent_at(node.start_byte)

    def indent_at(self, offset: int) -> str:
        """The blanks that the line of an offset begins with."""
        data = self.file.data
        first = data.rfind(b"\n", 0, offset) + 1
        end = first
        while end < len(data) and data[end : end + 1] in (b" ", b"\t"):
            end += 1
        return data[first:end].decode()

    @cached_property
    def step(self) -> str:
        """What one level of indentation is in this unit, as its blocks show, or else in this file."""
        return self._step(self.of(self.grammar.blocks)) or file_step(self.file)

    def _step(self, blocks: Sequence[Node]) -> str:
        for block in blocks:
            inner = self.statements(block)
            if inner and inner[0].start_point.row != block.start_point.row:
                outside, within = self.indent(block), self.indent(inner[0])
                if within.startswith(outside) and within != outside:
                    return within[len(outside) :]
        return ""

    @cached_property
    def quote(self) -> str:
        """The quote that its strings have, or the file's."""
        if self.language not in JAVASCRIPT:
            return '"'
        quotes = [text(node)[0] for node in self.of(self.grammar.strings)]
        if not quotes:
            single, double = self.file.data.count(b"'"), self.file.data.count(b'"')
            return '"' if double > single else "'"
        return '"' if quotes.count('"') > quotes.count("'") else "'"

    def string(self, content: str) -> str:
        """A string literal, quoted as here; the other quote where the content has this one."""
        quote = self.quote
        if quote in content and self.language in JAVASCRIPT:
            quote = "'" if quote == '"' else '"'
        return quote + content + quote

    @cached_property
    def semicolon(self) -> str:
        """What ends a statement here."""
        if self.language == "go":
            return ""
        if self.language not in JAVASCRIPT:
            return ";"
        ends = [text(node).endswith(";") for node in self.of(self.grammar.statements)]
        if not ends:
            return ";"
        return ";" if sum(ends) * 2 >= len(ends) else ""

    def single(self, node: Node) -> bool:
        """Whether it is on one line."""
        return node.start_point.row == node.end_point.row

    def once(self, code: str) -> bool:
        """Whether this text appears once in the unit."""
        return self.unit.text.count(code) == 1

    def within(self, node: Node, phrasing: Phrasing) -> str | None:
        """`` in <function>`` where the unit has several named functions, else nothing; None if that can't tell."""
        if len(self.functions) < 2:
            return ""
        function = self.function(node)
        if function is None or self.name(function) not in self.named_once:
            return None
        return f" in {phrasing.code(self.name(function))}"


def text(node: Node) -> str:
    """A node's source."""
    assert node.text is not None
    return node.text.decode()


def removal(seen: View, first: int, last: int) -> Replacement:
    """Whole lines go, and a blank line with them that would stand double or at a block's edge."""
    data = seen.file.data
    above = data[data.rfind(b"\n", 0, max(first - 1, 0)) + 1 : first]
    below = data[last : data.find(b"\n", last) + 1]
    if not above.strip() and first - len(above) >= seen.unit.start and above:
        if not below.strip() or below.strip().startswith((b"}", b")", b"]")):
            return Replacement(first - len(above), last, "")
    elif above.rstrip().endswith(b"{") and below and not below.strip() and last + len(below) <= seen.unit.end:
        return Replacement(first, last + len(below), "")
    return Replacement(first, last, "")


def mention(phrasing: Phrasing, code: str) -> str:
    """A piece of code inside an instruction, quoted where it would otherwise be lost among the words."""
    quoted = phrasing.code(code)
    return f"`{code}`" if quoted == code and " " in code and "`" not in code else quoted


def child(node: Node | None, *fields: str) -> Node | None:
    """What is found by following the fields."""
    for field in fields:
        if node is None:
            return None
        node = node.child_by_field_name(field)
    return node


@lru_cache(maxsize=64)
def file_step(file: SourceFile) -> str:
    """One level of indentation in a file: the most usual growth from one line to the next."""
    seen: dict[str, int] = {}
    before = ""
    for line in file.data.decode().splitlines():
        if not line.strip() or line.lstrip().startswith("*"):
            continue
        blanks = line[: len(line) - len(line.lstrip())]
        if blanks.startswith(before) and blanks != before:
            step = blanks[len(before) :]
            seen[step] = seen.get(step, 0) + 1
        before = blanks
    return max(seen, key=lambda step: seen[step]) if seen else "  "


@lru_cache(maxsize=8)
def view(unit: Unit) -> View | None:
    """The unit's view, if its language is one with braces and its source has no errors."""
    if unit.file.language not in GRAMMAR or unit.node.has_error:
        return None
    return View(unit)


def javascript(unit: Unit) -> View | None:
    """The view of a JavaScript or TypeScript unit."""
    return view(unit) if unit.file.language in JAVASCRIPT else None


def typescript(unit: Unit) -> View | None:
    """The view of a TypeScript unit."""
    return view(unit) if unit.file.language in TYPESCRIPT else None


def edit(kind: str, instruction: str, *replacements: Replacement) -> Edit:
    """An edit with its replacements in order."""
    return Edit(kind, instruction, tuple(sorted(replacements, key=lambda r: (r.start, r.end))))


def replace(node: Node, new: str) -> Replacement:
    """The node becomes the text."""
    return Replacement(node.start_byte, node.end_byte, new)


def choose(random: Random, items: Sequence[Node]) -> Iterator[Node]:
    """The items in random order."""
    return iter(random.sample(list(items), len(items)))


@dataclass(frozen=True, slots=True)
class Place:
    """Where whole lines can be put in.

    Attributes:
        offset: the start of a line.
        indent: what the new lines begin with.
        words: where this is, to follow a verb phrase: "at the start of the function".
        node: what it is next to.
    """

    offset: int
    indent: str
    words: str
    node: Node


def describe(seen: View, node: Node, phrasing: Phrasing) -> str | None:
    """Words for a statement that tell it from all others in the unit, after "before" or "after"."""
    grammar = seen.grammar
    if node.type in grammar.returns or (
        node.named_child_count == 1 and node.named_children[0].type in grammar.returns
    ):
        where = seen.within(node, phrasing)
        function = seen.function(node)
        same = [n for n in seen.of(grammar.returns) if seen.function(n) == function]
        if where is not None and len(same) == 1 and phrasing.random.random() < 0.7:
            return "the return" + where
    kinds = {**grammar.loops}
    inner = node
    if node.type == "expression_statement" and node.named_child_count and node.named_children[0].type in kinds:
        inner = node.named_children[0]
    if inner.type in kinds:
        word = kinds[inner.type]
        where = seen.within(node, phrasing)
        function = seen.function(node)
        loops = [n for n in seen.of(kinds) if seen.function(n) == function]
        same = [n for n in loops if kinds[n.type] == word]
        if where is not None and len(loops) == 1 and phrasing.random.random() < 0.5:
            return "the loop" + where
        if where is not None and len(same) == 1:
            return f"the {word} loop{where}"
    first = text(node).split("\n")[0].strip()
    if len(first) <= 70 and len(first) > 3 and seen.once(first):
        if not seen.single(node) and first.endswith("{"):
            first = first[:-1].strip()
            if not first or not seen.once(first):
                return None
        elif first.endswith(";") and phrasing.random.random() < 0.4 and seen.once(first[:-1]):
            first = first[:-1]
        return mention(phrasing, first)
    return None


def start(seen: View, function: Node) -> tuple[int, str] | None:
    """The line where a function's first statement goes, after what must come first, and its indentation."""
    body = seen.body(function)
    if body is None or seen.single(body):
        return None
    statements = seen.statements(body)
    if not statements:
        return None
    first = statements[0]
    row = function_line = body.start_point.row
    if first.start_point.row == function_line:
        return None
    if (
        first.type == "explicit_constructor_invocation"
        or text(first)[:1] in "'\""
        or text(first).startswith("super(")
    ):
        if len(statements) < 2 or statements[1].start_point.row == first.end_point.row:
            return None
        row = first.end_point.row
    offset = seen.file.line_starts[row + 1]
    if seen.file.data[body.start_byte + 1 : seen.file.line_starts[function_line + 1]].strip():
        return None
    return offset, seen.indent(first)


def places(seen: View, phrasing: Phrasing, after: bool = True) -> Iterator[Place]:
    """Places for new statements (or comments, where not ``after``), in random order, each said in words."""
    grammar, random = seen.grammar, phrasing.random
    found: list[tuple[str, Node]] = [("start", function) for function in seen.functions]
    found += [("start", function) for function in seen.functions if len(seen.functions) < 3]
    for block in seen.of(grammar.blocks):
        owner = seen.parent(block)
        if owner is not None and owner.type in grammar.loops:
            found.append(("loop", block))
        statements = seen.statements(block)
        if not statements or seen.function(statements[0]) is None:
            continue
        found += [("before", statement) for statement in statements]
        if after:
            found += [("after", statement) for statement in statements[:-1]]
            last = statements[-1]
            if last.type in grammar.statements and last.type not in grammar.returns | grammar.throws:
                found.append(("end", block))
    for kind, node in random.sample(found, min(len(found), 12)):
        place = _place(seen, kind, node, phrasing)
        if place is not None:
            yield place


def _place(seen: View, kind: str, node: Node, phrasing: Phrasing) -> Place | None:
    random, grammar = phrasing.random, seen.grammar
    if kind == "start":
        at = start(seen, node)
        if at is None:
            return None
        name = seen.name(node)
        words = ["at the start of ", "at the top of ", "at the beginning of ", "as the first line of "]
        if len(seen.functions) == 1:
            noun = random.choice([phrasing.code(name), "the function", "the body"])
        elif name in seen.named_once:
            noun = phrasing.code(name)
        else:
            return None
        return Place(at[0], at[1], random.choice(words) + noun, node)
    if kind == "loop":
        owner = seen.parent(node)
        statements = seen.statements(node)
        if owner is None or not statements or seen.single(node):
            return None
        if statements[0].start_point.row == node.start_point.row:
            return None
        if seen.file.data[node.start_byte + 1 : seen.file.line_starts[node.start_point.row + 1]].strip():
            return None
        target = owner
        outer = seen.parent(owner)
        if outer is not None and outer.type == "expression_statement":
            target = outer
        told = describe(seen, target, phrasing)
        if told is None or not told.startswith("the "):
            return None
        words = ["at the start of ", "at the top of ", "as the first thing in "]
        offset = seen.file.line_starts[node.start_point.row + 1]
        return Place(offset, seen.indent(statements[0]), random.choice(words) + told, node)
    if kind == "end":
        owner = seen.parent(node)
        statements = seen.statements(node)
        lines = seen.whole_lines(statements[-1])
        if owner is None or lines is None or node.end_point.row != statements[-1].end_point.row + 1:
            return None
        if text(statements[-1]).startswith(("break", "continue", "goto")):
            return None
        if seen.language == "rust" and statements[-1].type not in {"expression_statement", "let_declaration"}:
            return None
        if any(owner == function for function in seen.functions):
            if len(seen.functions) > 1 and seen.name(owner) not in seen.named_once:
                return None
            noun = (
                phrasing.code(seen.name(owner))
                if len(seen.functions) > 1 or random.random() < 0.5
                else "the function"
            )
        elif owner.type in grammar.loops:
            outer = seen.parent(owner)
            told = describe(
                seen, outer if outer is not None and outer.type == "expression_statement" else owner, phrasing
            )
            if told is None or not told.startswith("the "):
                return None
            noun = told
        else:
            return None
        return Place(lines[1], seen.indent(statements[-1]), f"at the end of {noun}", node)
    lines = seen.whole_lines(node)
    if lines is None or (kind == "before" and node.type == "explicit_constructor_invocation"):
        return None
    if kind == "before" and _comment_above(seen, lines[0]):
        return None
    told = describe(seen, node, phrasing)
    if told is None:
        return None
    if kind == "after":
        if node.type in grammar.returns | grammar.throws or text(node).startswith(("break", "continue", "return")):
            return None
        return Place(lines[1], seen.indent(node), random.choice(["after ", "right after ", "below "]) + told, node)
    return Place(lines[0], seen.indent(node), random.choice(["before ", "right before ", "above "]) + told, node)


def _comment_above(seen: View, offset: int) -> bool:
    data = seen.file.data
    before = data[data.rfind(b"\n", 0, max(offset - 1, 0)) + 1 : offset].strip()
    return before.startswith((b"//", b"/*", b"*", b"#", b"@")) or before.endswith(b"*/")


def binding(seen: View, node: Node) -> str:
    """What the identifier declares (local, parameter, function, ...), or nothing if it refers to something."""
    grammar = seen.grammar
    inner = node
    parent = seen.parent(inner)
    while parent is not None:
        key = (parent.type, seen.field(inner))
        found = grammar.bindings.get(key)
        if found is not None:
            if key == ("for_in_statement", "left") and parent.child_by_field_name("kind") is None:
                return ""
            if key == ("match_pattern", "") and not text(node)[:1].islower():
                return ""
            if (
                seen.language == "java"
                and found == "local"
                and seen.inside(node, {"field_declaration"}) == seen.parent(parent)
            ):
                return "field"
            return found
        if parent.type not in grammar.patterns:
            return ""
        if parent.type in {"assignment_pattern", "object_assignment_pattern"} and seen.field(inner) != "left":
            return ""
        if parent.type == "array_declarator" and seen.field(inner) != "declarator":
            return ""
        inner, parent = parent, seen.parent(parent)
    return ""


def references(seen: View, scope: Node, name: str) -> list[Node] | None:
    """Every use of the variable's name in the scope, or None if one of them isn't understood."""
    grammar = seen.grammar
    found = []
    for node in seen.nodes:
        if node.start_byte < scope.start_byte or node.end_byte > scope.end_byte or node.child_count:
            continue
        if node.type == "identifier":
            if text(node) != name:
                continue
            parent = seen.parent(node)
            key = (parent.type if parent is not None else "", seen.field(node))
            if key in grammar.not_references:
                continue
            if parent is not None and parent.type == "literal_element":
                return None
            found.append(node)
        elif node.type in {"shorthand_property_identifier", "shorthand_property_identifier_pattern"}:
            if text(node) == name:
                found.append(node)
        elif node.type == "shorthand_field_identifier" and text(node) == name:
            found.append(node)
        elif seen.language == "rust" and node.type == "string_content" and ("{" + name) in text(node):
            return None
    return found


def renamed(node: Node, new: str) -> Replacement:
    """The use of a variable becomes one of the new name; an object's property keeps its name."""
    old = text(node)
    if node.type.startswith("shorthand"):
        return replace(node, f"{old}: {new}")
    return replace(node, new)


def check(unit: Unit, made: Edit) -> bool:
    """Whether the edited file still parses, changes something, and stays in the unit."""
    data = unit.file.data
    out, position = [], 0
    for replacement in made.replacements:
        if replacement.start < max(position, unit.start) or replacement.end > unit.end:
            return False
        out += [data[position : replacement.start], replacement.text.encode()]
        position = replacement.end
    after = b"".join([*out, data[position:]])
    if after == data:
        return False
    if unit.file.tree.root_node.has_error:
        return True
    return not parser(unit.file.language).parse(after).root_node.has_error
