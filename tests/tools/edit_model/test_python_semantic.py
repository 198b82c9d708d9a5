"""The semantic edits of Python: the right text on small examples, valid results on real code."""

import ast
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import ModuleType

import pytest

from tools.edit_model.edit import apply
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import SourceFile, Unit
from tools.edit_model.transforms import (
    python_bugs,
    python_control_flow,
    python_idioms,
    python_loops,
    python_mistakes,
    python_order,
    python_strings,
    python_variables,
)
from tools.edit_model.transforms.python_rewrites import Transform

MODULES = (
    python_loops,
    python_strings,
    python_variables,
    python_control_flow,
    python_bugs,
    python_idioms,
    python_order,
    python_mistakes,
)
STANDARD_LIBRARY = (
    "argparse.py",
    "textwrap.py",
    "configparser.py",
    "tempfile.py",
    "dataclasses.py",
    "asyncio/streams.py",
)


def unit_of(text: str) -> Unit:
    """The outermost unit of a text."""
    return next(SourceFile("test", "test.py", "python", text.encode()).units(least=1))


def results(transform: Transform, text: str) -> set[str]:
    """What the transformation makes of a text, over many draws."""
    unit, found = unit_of(text), set()
    for seed in range(30):
        edit = transform(unit, Phrasing(Random(seed)))
        if edit is not None:
            found.add(apply(unit.file.data, edit.replacements).decode())
    return found


def instructions(transform: Transform, text: str) -> set[str]:
    """What the transformation asks for, over many draws, in lower case."""
    unit = unit_of(text)
    edits = [transform(unit, Phrasing(Random(seed))) for seed in range(80)]
    return {edit.instruction.lower() for edit in edits if edit}


@pytest.mark.parametrize(
    ("transform", "before", "after"),
    [
        (
            python_loops.TRANSFORMS["loop-to-comprehension"],
            "def f(xs):\n  ys = []\n  for x in xs:\n    if x > 1:\n      ys.append(x * 2)\n  return ys.copy()\n",
            "def f(xs):\n  ys = [x * 2 for x in xs if x > 1]\n  return ys.copy()\n",
        ),
        (
            python_loops.TRANSFORMS["comprehension-to-loop"],
            "def f(xs):\n    d = {x: 1 for x in xs}\n    return d\n",
            "def f(xs):\n    d = {}\n    for x in xs:\n        d[x] = 1\n    return d\n",
        ),
        (
            python_loops.TRANSFORMS["use-any-all"],
            "def f(xs):\n    for x in xs:\n        if x is None:\n            return False\n    return True\n",
            "def f(xs):\n    return all(x is not None for x in xs)\n",
        ),
        (
            python_strings.TRANSFORMS["use-f-string"],
            "def f(a, b):\n    return '%s: {%r} %.2f' % (a, b.c, a[0])\n",
            "def f(a, b):\n    return f'{a}: {{{b.c!r}}} {a[0]:.2f}'\n",
        ),
        (
            python_strings.TRANSFORMS["f-string-to-format"],
            'def f(a):\n    return f"<{a!r:>10}> {a.b}"\n',
            'def f(a):\n    return "<{!r:>10}> {}".format(a, a.b)\n',
        ),
        (
            python_variables.TRANSFORMS["inline-variable"],
            "def f(a):\n    b = a + 1\n    return b * 2\n",
            "def f(a):\n    return (a + 1) * 2\n",
        ),
        (
            python_control_flow.TRANSFORMS["invert-condition"],
            "def f(a):\n    if a < 1:\n        return 1\n    else:\n        return 2\n",
            "def f(a):\n    if a >= 1:\n        return 2\n    else:\n        return 1\n",
        ),
        (
            python_control_flow.TRANSFORMS["early-return"],
            "def f(a):\n\tif a:\n\t\tb(a)\n\t\tc(a)\n\t\tfor d in a:\n\t\t\te(d)\n",
            "def f(a):\n\tif not a:\n\t\treturn\n\tb(a)\n\tc(a)\n\tfor d in a:\n\t\te(d)\n",
        ),
        (
            python_control_flow.TRANSFORMS["merge-nested-ifs"],
            "def f(a, b):\n  if a:\n    if b or a:\n      g()\n      h()\n",
            "def f(a, b):\n  if a and (b or a):\n    g()\n    h()\n",
        ),
        (
            python_idioms.TRANSFORMS["list-to-tuple"],
            "def f(a):\n    for b in [a]:\n        g(b)\n",
            "def f(a):\n    for b in (a,):\n        g(b)\n",
        ),
        (
            python_idioms.TRANSFORMS["use-zip"],
            "def f(a, b):\n    for i in range(len(a)):\n        c = a[i]\n        d = b[i]\n        print(c, d)\n",
            "def f(a, b):\n    for c, d in zip(a, b):\n        print(c, d)\n",
        ),
        (
            python_order.TRANSFORMS["sort-entries"],
            'def f():\n    return ["c", "a", "b"]\n',
            'def f():\n    return ["a", "b", "c"]\n',
        ),
        (
            python_bugs.TRANSFORMS["fix-mutable-default"],
            'def f(a, b=[]):\n    """F."""\n    b.append(a)\n',
            'def f(a, b=None):\n    """F."""\n    if b is None:\n        b = []\n    b.append(a)\n',
        ),
    ],
)
def test_rewrite_makes_the_one_right_text(transform: Transform, before: str, after: str) -> None:
    """Each rewrite makes the text that a careful programmer would write, whatever the wording."""
    assert results(transform, before) == {after}


@pytest.mark.parametrize(
    ("transform", "after", "before"),
    [
        (
            python_loops.INVERSE["loop-to-comprehension"],
            "def f(xs):\n    ys = [x for x in xs]\n    return ys\n",
            "def f(xs):\n    ys = []\n    for x in xs:\n        ys.append(x)\n    return ys\n",
        ),
        (
            python_strings.INVERSE["use-f-string-for-percent"],
            "def f(a):\n    return f'{a} {a.b!r}'\n",
            "def f(a):\n    return '%s %r' % (a, a.b)\n",
        ),
        (
            python_control_flow.INVERSE["early-return"],
            "def f(a):\n    if not a:\n        return\n    b(a)\n    c(a)\n",
            "def f(a):\n    if a:\n        b(a)\n        c(a)\n",
        ),
        (
            python_bugs.INVERSE["fix-missing-not"],
            "def f(a):\n    if not a.b:\n        c()\n",
            "def f(a):\n    if a.b:\n        c()\n",
        ),
        (
            python_bugs.INVERSE["fix-return-in-loop"],
            "def f(a):\n    for b in a:\n        c(b)\n    return a\n",
            "def f(a):\n    for b in a:\n        c(b)\n        return a\n",
        ),
        (
            python_mistakes.INVERSE["fix-missing-colon"],
            "def f(a): return a\n\n\nclass C:\n    x = 1\n",
            "",
        ),
        (
            python_mistakes.INVERSE["fix-single-equals"],
            "def f(a):\n    if a == 1:\n        return a\n",
            "def f(a):\n    if a = 1:\n        return a\n",
        ),
    ],
)
def test_inverse_makes_the_code_before(transform: Transform, after: str, before: str) -> None:
    """Applied to the code that was asked for, an inverse makes the code that it was asked of, or nothing."""
    assert results(transform, after) == ({before} if before else set())


def test_new_name_is_in_the_instruction() -> None:
    """An extracted variable gets the name that the instruction says."""
    unit = unit_of("def f(a):\n    return g(a.b.c, 1)\n")
    edit = python_variables.TRANSFORMS["extract-variable"](unit, Phrasing(Random(3)))
    assert edit is not None
    line = apply(unit.file.data, edit.replacements).decode().splitlines()[1]
    assert line.split(" = ")[0].strip() in edit.instruction and line.split(" = ")[1] in edit.instruction


def test_ambiguous_places_are_named() -> None:
    """Where two places fit, every instruction says which one is meant."""
    text = "def f(a, b):\n    if a == None:\n        g()\n    if b == None:\n        h()\n"
    transform = python_idioms.TRANSFORMS["use-is-none"]
    single = {t for t in instructions(transform, text) if "a == none" in t or "b == none" in t or "of" in t}
    both = {t for t in instructions(transform, text) if "comparisons" in t or "everywhere" in t or "never" in t}
    assert instructions(transform, text) == single | both
    assert single and both


def test_courtesies_only_with_requests() -> None:
    """A wording that states a fact is not preceded by a courtesy."""
    text = "def f(a):\n    if not a.b:\n        c()\n"
    asked = instructions(python_bugs.INVERSE["fix-missing-not"], text)
    assert asked and not any(t.startswith(("please the", "can you the", "please missing")) for t in asked)


def test_odd_code_is_left_alone() -> None:
    """Code that is no Python yields nothing."""
    unit = unit_of("def f(a):\n    print a, 'x' % a\n    if a:\n        b\n")
    for module in MODULES:
        for transform in [*module.TRANSFORMS.values(), *module.INVERSE.values()]:
            assert transform(unit, Phrasing(Random(1))) is None


def real_units() -> Iterator[Unit]:
    """Some units of the standard library."""
    for name in STANDARD_LIBRARY:
        data = (Path(sysconfig.get_path("stdlib")) / name).read_bytes()
        units = list(SourceFile("stdlib", name, "python", data).units())
        yield from Random(name).sample(units, min(16, len(units)))


@pytest.mark.parametrize("module", MODULES)
def test_edits_of_real_code_are_valid(module: ModuleType) -> None:
    """On real code each edit stays inside its unit, changes it, and both sides parse unless syntax is at fault."""
    made = 0
    for unit in real_units():
        for table in (module.TRANSFORMS, module.INVERSE):
            for name, transform in table.items():
                edit = transform(unit, Phrasing(Random(made)))
                if edit is None:
                    continue
                made += 1
                after = apply(unit.file.data, edit.replacements)
                assert name == edit.kind or name.startswith(edit.kind + "-for-")
                assert after != unit.file.data and edit.instruction
                assert all(unit.start <= r.start <= r.end <= unit.end for r in edit.replacements)
                if module is not python_mistakes:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        ast.parse(after)
    assert made > 5
