"""Instructions that ask a range for nothing it could do: the right answer is the range as it stands."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

from .framing import lowered, occurs
from .mixes import default_style, near_name, wording_of
from .phrasing import Phrasing
from .transforms.words import NOUNS, VERBS, fresh, message, new_name, number, style_of

_NAME: Final = re.compile(r"(?<![\w$.'\"-])[A-Za-z_$][\w$]{1,40}(?![\w$])")
_NUMBER: Final = re.compile(r"(?<![\w.])\d{1,6}(?![\w.])")
_STRING: Final = re.compile(r"""(["'])([\w ./:-]{2,30})\1""")
_KEYWORDS: Final = frozenset(
    {
        "and", "as", "assert", "async", "await", "break", "case", "catch", "class", "const", "continue", "def",
        "default", "del", "delete", "do", "elif", "else", "enum", "except", "export", "extends", "False", "false",
        "final", "finally", "fn", "for", "from", "func", "function", "global", "if", "impl", "import", "in",
        "instanceof", "int", "interface", "is", "lambda", "let", "match", "mut", "new", "None", "nil", "nonlocal",
        "not", "null", "or", "package", "pass", "private", "protected", "pub", "public", "raise", "return", "self",
        "static", "struct", "super", "switch", "this", "throw", "throws", "True", "true", "try", "type", "typeof",
        "undefined", "use", "var", "void", "volatile", "while", "with", "yield", "the", "an", "of", "to", "be",
        "that", "it", "its", "one", "which", "when", "where", "are", "has", "have", "was", "were", "will", "can",
    }
)  # fmt: skip
_SCRIPTS: Final = frozenset({"javascript", "typescript", "tsx"})
_COMMENT: Final = re.compile(r"#|//|/\*|\"\"\"|'''")


@dataclass(frozen=True, slots=True)
class Place:
    """What an instruction is written for.

    Attributes:
        text: the range.
        around: the context that is shown with it.
        names: of other functions, to be taken for one in the range.
    """

    language: str
    text: str
    around: str
    names: tuple[str, ...]
    phrasing: Phrasing
    held_out: bool

    @property
    def random(self) -> Random:
        """The source of chance."""
        return self.phrasing.random

    def name(self) -> str | None:
        """A name that stands in the range."""
        found: list[str] = sorted({n for n in _NAME.findall(self.text) if n not in _KEYWORDS})
        return self.random.choice(found) if found else None

    def absent_name(self) -> str | None:
        """A name that doesn't stand in the range, often one of its context or much like one that does."""
        roll = self.random.random()
        if roll < 0.35:
            found: list[str] = sorted(
                {n for n in _NAME.findall(self.around) if n not in _KEYWORDS and not self.has(n)}
            )
            if found:
                return self.random.choice(found)
        near = self.name()
        if near is None:
            return None
        taken = set(re.findall(r"[\w$]+", self.text))
        style = default_style(self.language)
        if roll < 0.70:
            name = near_name(near, self.random)
        elif roll < 0.9:
            name = new_name(near, self.random, taken, style_of(near, style))
        else:
            name = fresh(self.random, taken, style)
        return None if self.has(name) else name

    def has(self, word: str) -> bool:
        """Whether a word stands in the range, in whatever case."""
        return word.lower() in self.text.lower()

    def pick(self, *wordings: str) -> str:
        """One of the wordings, as `Phrasing.pick`."""
        return self.phrasing.pick(*wordings)


def request_without_effect(place: Place) -> tuple[str, str] | None:
    """A kind and an instruction that leaves the range as it is; None if the chosen kind finds none."""
    makers = list(_MAKERS.items())
    kind, (make, _) = place.random.choices(makers, [weight for _, (_, weight) in makers])[0]
    instruction = make(place)
    return None if instruction is None else (kind, instruction)


def _no_such_name(place: Place) -> str | None:
    old = place.absent_name()
    if old is None:
        return None
    style = style_of(old, default_style(place.language))
    new = new_name(old, place.random, set(re.findall(r"[\w$]+", place.text)), style)
    if place.random.random() < 0.15 and (present := place.name()):
        new = present  # as if it had been done already
    o, n = place.phrasing.code(old), place.phrasing.code(new)
    what = place.random.choice(("variable ", "parameter ", "argument ", "local ", "", "", ""))
    return place.pick(
        f"Rename {what}{o} to {n}", f"Rename {o} to {n}", f"Rename the {what or 'variable '}{o} to {n}",
        f"Call {o} {n}", f"Change {what}{o} to {n}", f"Use {n} instead of {o}", f"Replace {o} with {n}",
        f"The {what or 'variable '}{o} should be called {n}", f"Rename {what}{o} → {n}", f"s/{old}/{new}/",
        f"Every {o} should be {n}", f"Give {what}{o} the name {n}", f"Rename {o} as {n} everywhere",
        f"Remove the {what or 'parameter '}{o}", f"Delete {what}{o}", f"Inline {what}{o}",
        f"Set the default of {o} to {number(place.random, 10)}", f"Add a type annotation to {o}",
        f"Change the type of {o}", f"Drop {o}", f"Delete the call to {o}",
        f"Switch the name {o} over to {n}",
    )  # fmt: skip


def _no_such_value(place: Place) -> str | None:
    random = place.random
    if random.random() < 0.55:
        near = _NUMBER.findall(place.text)
        base = int(random.choice(near)) if near and random.random() < 0.7 else random.randint(0, 2000)
        old, new = str(number(random, base)), str(number(random, base))
        if old == new or place.has(old) or old in {"0", "1"}:
            return None
        o, n = old, new
        what = random.choice(("", "", "the ", "the number ", "the constant "))
    else:
        strings = _STRING.findall(place.text)
        quote, base_text = random.choice(strings) if strings else ('"', message(random))
        words = base_text.split(" ")
        index = random.randrange(len(words))
        words[index] = random.choice((random.choice(NOUNS), random.choice(VERBS), words[index] + "s"))
        old, new = " ".join(words), message(random)
        if place.has(old) or place.has(words[index]):
            return None
        o, n = quote + old + quote, quote + new + quote
        what = random.choice(("", "", "the ", "the string ", "the text ", "the message "))
    return place.pick(
        f"Change {what}{o} to {n}", f"Replace {what}{o} with {n}", f"Use {n} instead of {o}",
        f"Set {what}{o} to {n}", f"Make {what}{o} {n}", f"Turn {o} into {n}", f"Swap {what}{o} for {n}",
        f"It should be {n}, not {o}", f"Update {what}{o} to {n}", f"Where it says {o}, write {n}",
        f"Put {n} where {o} stands",
    )  # fmt: skip


def _other_function(place: Place) -> str | None:
    random = place.random
    candidates = [name for name in place.names if not place.has(name)]
    name = random.choice(candidates) if candidates and random.random() < 0.6 else place.absent_name()
    if name is None or place.has(name):
        return None
    f = place.phrasing.code(name)
    known = place.name() or "value"
    v, n = place.phrasing.code(known), place.phrasing.code(new_name(known, random, set()))
    says = f'"{message(random)}"'
    return place.pick(
        f"In {f}, rename {v} to {n}", f"Add a docstring to {f}", f"Add a docstring to {f} saying {says}",
        f"Make {f} async", f"Rename the function {f} to {n}", f"Add a parameter {n} to {f}",
        f"Delete the method {f}", f"Remove {f}", f"Add a return type to {f}", f"Remove the default in {f}",
        f"Add a comment above {f} saying {says}", f"Wrap the body of {f} in a try", f"Log a message in {f}",
        f"Change the return value of {f} to {number(random, 1)}", f"Simplify {f}", f"Return early in {f}",
        f"Convert the loop in {f} to a comprehension", f"Swap the parameters of {f}", f"Fix {f}",
        f"Raise {says} in {f}", f"Make {f} private",
    )  # fmt: skip


_REMOVALS: Final[tuple[tuple[re.Pattern[str], tuple[str, ...], frozenset[str] | None], ...]] = (
    (_COMMENT, ("the comments", "all comments", "the comment", "the commented-out code", "the TODO",
                "the trailing comment"), None),
    (re.compile(r'"""|\'\'\''), ("the docstring", "docstrings", "the doc string", "its docstring"),
     frozenset({"python"})),
    (re.compile(r"print|console|log", re.I), ("the prints", "the print", "all print statements", "debug output",
                                              "the debug prints", "the logging", "the log calls"), None),
    (re.compile("console"), ("the console.log", "all console.log calls", "console.logs"), _SCRIPTS),
    (re.compile("debugger"), ("the debugger statement", "debugger"), _SCRIPTS),
    (re.compile(r"\btry\b|catch|except"), ("the try", "the try block", "the error handling", "the exception handler",
                                           "the try/except"), None),
    (re.compile(r"assert", re.I), ("the assert", "the assertions", "all asserts"), None),
    (re.compile(r"\bimport\b|require|use |include"), ("the unused import", "the imports", "unused imports",
                                                      "the import of os"), None),
    (re.compile("@"), ("the decorator", "the decorators", "the @property", "the annotation"), None),
    (re.compile(r"async|await"), ("async", "the async keyword", "await", "the await"), None),
    (re.compile(r"while|for"), ("the loop", "the while loop", "the for loop"), None),
    (re.compile(r"global|nonlocal"), ("the global statement", "global"), frozenset({"python"})),
    (re.compile(r"else|elif"), ("the else", "the else branch", "the elif"), None),
    (re.compile("raise|throw"), ("the raise", "the exception", "the throw"), None),
    (re.compile("TODO|FIXME|XXX"), ("the TODO", "the FIXME", "the todo comments"), None),
    (re.compile(r"\blambda\b|=>"), ("the lambda", "the arrow function"), None),
    (re.compile(r"\bclass\b|extends"), ("the base class", "the class", "the inner class"), None),
)  # fmt: skip


def _nothing_to_remove(place: Place) -> str | None:
    pattern, things, languages = place.random.choice(_REMOVALS)
    if (languages is not None and place.language not in languages) or pattern.search(place.text):
        return None
    thing = place.random.choice(things)
    return place.pick(
        f"Remove {thing}", f"Delete {thing}", f"Drop {thing}", f"Get rid of {thing}", f"Take out {thing}",
        f"Strip {thing}", f"Don't need {thing}, remove", f"Cut {thing}", f"Clean out {thing}", f"Kill {thing}",
        f"I don't want {thing} here", f"Erase {thing}",
    )  # fmt: skip


_DONE: Final[tuple[tuple[re.Pattern[str], bool, tuple[str, ...], frozenset[str] | None], ...]] = (
    # A pattern, whether it has to stand in the range (or must not), what is then already so.
    (re.compile(r"\bvar\b"), False, ("Use let and const instead of var", "Replace var by const", "no more var",
                                     "Change var to let"), _SCRIPTS),
    (re.compile(r"=="), False, ("Use === instead of ==", "Make the comparison strict", "== should be ==="), _SCRIPTS),
    (re.compile(r"'"), False, ("Use double quotes", "Change single quotes to double quotes"), None),
    (re.compile(r'"'), False, ("Use single quotes", "Change double quotes to single quotes",
                               "single quotes everywhere"), _SCRIPTS | {"python"}),
    (re.compile(r"%|format|\+"), False, ("Use an f-string", "Use f-strings instead of format",
                                         "Convert the format call to an f-string"), frozenset({"python"})),
    (re.compile(r"function|=>"), False, ("Convert the function to an arrow function", "Use an arrow function"),
     _SCRIPTS),
    (re.compile(r"\bfor\b|\[|while|map"), False, ("Convert the loop to a list comprehension",
                                                  "Turn the for loop into a comprehension"), frozenset({"python"})),
    (re.compile(r"\bif\b|\?"), False, ("Merge the nested ifs", "Invert the if", "Replace the if by a ternary",
                                       "Turn the if into an early return", "Flip the condition"), None),
    (re.compile(r"range|enumerate|while|\bfor\b"), False, ("Use enumerate", "Use enumerate in the loop",
                                                           "Iterate with zip"), frozenset({"python"})),
    (re.compile(r"\bopen\b"), False, ("Use a with statement for the file", "Open the file with a context manager"),
     frozenset({"python"})),
    (re.compile(r"None"), False, ("Use is None instead of == None", "Compare with None by is"),
     frozenset({"python"})),
    (re.compile(r"\.then"), False, ("Use await instead of then", "Replace the then chain with await"), _SCRIPTS),
    (re.compile(r"[ \t]+\n|[ \t]+\Z"), False, ("Remove trailing whitespace", "Strip trailing spaces",
                                               "no trailing whitespace please"), None),
    (re.compile(r";"), False, ("Remove the semicolons", "Drop the semicolons"), _SCRIPTS | {"python"}),
    (re.compile(r"\t"), False, ("Replace tabs by spaces", "no tabs, use spaces", "Convert the tabs to spaces"), None),
    (re.compile(r"lambda"), False, ("Convert the lambda to a def", "Replace the lambda by a named function"),
     frozenset({"python"})),
    (re.compile(r"\bimport\b|require"), False, ("Sort the imports", "Group the imports"), None),
    (re.compile(r"function|=>|concat|\+"), False, ("Use a template literal", "Use template strings for the concat"),
     _SCRIPTS),
)  # fmt: skip


def _already_so(place: Place) -> str | None:
    pattern, present, requests, languages = place.random.choice(_DONE)
    if languages is not None and place.language not in languages:
        return None
    if (pattern.search(place.text) is not None) != present:
        return None
    return place.pick(*requests, "Just " + lowered(place.random.choice(requests)))


def _no_syntax_error(place: Place) -> str | None:
    return place.pick(
        "Fix the syntax error", "Fix syntax", "Fix the missing bracket", "There's a syntax error, fix it",
        "Add the missing parenthesis", "Close the bracket", "Add the missing colon", "Repair the syntax",
        "It doesn't parse, fix it", "Fix the unclosed string", "Add the missing quote", "Fix the indentation error",
        "Correct the syntax error", "Balance the parentheses", "Something doesn't compile here",
        "Fix the typo in the keyword", "SyntaxError, please fix", "Make this parse",
    )  # fmt: skip


_VAGUE: Final = (
    "clean up", "clean this up", "make it better", "improve this", "optimise", "optimize this", "make it faster",
    "refactor", "refactor this code", "make it nicer", "make it more readable", "improve the code quality",
    "make this more pythonic", "tidy up", "polish this", "beautify", "format this", "modernise this",
    "make it more robust", "production ready please", "handle edge cases", "improve performance", "fix it",
    "fix this", "fix the bug", "fix bugs", "make it work", "simplify", "shorten this", "make it clean code",
    "apply best practices", "follow the style guide", "rewrite this", "do it properly", "make it elegant",
    "reduce complexity", "less code", "make this safer", "review this", "check this", "improve naming",
    "better names please", "make it maintainable", "could be nicer", "make it good", "enhance",
    "clean code please", "improve", "better", "cleanup", "make it DRY", "can you do something about this",
)  # fmt: skip

_QUESTIONS: Final = (
    "what does this do?", "what is this?", "explain this", "explain this code", "how does this work?",
    "why is this needed?", "is this correct?", "is there a bug here?", "does this handle empty input?",
    "what happens if this fails?", "who calls this?", "what's the complexity?", "is this thread safe?",
    "what does it return?", "why?", "when is this called?", "can this be faster?", "do we need this?",
    "what type is this?", "where is this defined?", "is it used anywhere?", "summarise this", "tell me about this",
    "how would I test this?", "which version introduced this?", "what does the first line mean?",
    "could this raise?", "is this the right place for it?", "does this leak memory?", "what is the purpose of this?",
)  # fmt: skip

_NONSENSE: Final = (
    "asdf", "test", "hello", "hi", "ok", "thanks", "thank you", "banana", "foo", "lorem ipsum", "...", "?", "yes",
    "no", "undo", "redo", "never mind", "nothing", "leave it", "leave as is", "don't change anything",
    "keep it as it is",
    "do nothing", "no changes", "hmm", "wait", "stop", "cancel", "good morning", "what's the weather", "abc",
    "qwerty", "1234", "lgtm", "nice", "cool", "git commit", "ls -la", "next", "continue", "same as before",
    "see above", "done",
    "run the tests", "open the file", "save", "close", "it's fine", "looks good to me", "no change needed",
)  # fmt: skip


def _vague_request(place: Place) -> str | None:
    return _varied(place, _VAGUE)


def _question(place: Place) -> str | None:
    random = place.random
    name = place.name()
    if name is not None and random.random() < 0.4:
        n = place.phrasing.code(name)
        return wording_of(
            (
                f"what is {n}?", f"what does {n} mean?", f"why {n}?", f"where does {n} come from?",
                f"is {n} used?", f"what type has {n}?", f"explain {n}", f"can {n} be None?", f"why is {n} needed?",
                f"how is {n} computed?", f"what happens to {n}?", f"is {n} a good name?", f"what about {n}?",
            ),
            random,
            place.held_out,
        )  # fmt: skip
    return _varied(place, _QUESTIONS)


def _nonsense(place: Place) -> str | None:
    random = place.random
    if random.random() < 0.4:
        words = [random.choice(random.choice((NOUNS, VERBS))) for _ in range(random.randint(1, 4))]
        return " ".join(words)
    return _varied(place, _NONSENSE)


def _varied(place: Place, wordings: tuple[str, ...]) -> str:
    text = wording_of(wordings, place.random, place.held_out)
    roll = place.random.random()
    if roll < 0.25:
        text = text[0].upper() + text[1:]
    elif roll < 0.35 and not text.endswith("?"):
        text += place.random.choice(("!", ".", " please"))
    return text


_MAKERS: Final[dict[str, tuple[Callable[[Place], str | None], float]]] = {
    "no-such-name": (_no_such_name, 3.0),
    "no-such-value": (_no_such_value, 2.0),
    "other-function": (_other_function, 2.0),
    "nothing-to-remove": (_nothing_to_remove, 2.0),
    "already-so": (_already_so, 1.2),
    "no-syntax-error": (_no_syntax_error, 0.8),
    "vague-request": (_vague_request, 1.2),
    "question": (_question, 1.0),
    "nonsense": (_nonsense, 0.7),
}

KINDS: Final = frozenset(_MAKERS)
"""The kinds of such requests."""


def cannot_apply(instruction: str, replaced: tuple[str, ...], text: str) -> bool:
    """Whether an instruction written for other code can do nothing in a range: what it names isn't there."""
    if not replaced or any(len(old.strip()) < 3 or not occurs(old, instruction) for old in replaced):
        return False
    return not any(old.lower() in text.lower() for old in replaced)
