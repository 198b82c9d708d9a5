"""Edits of curly-brace languages."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from tools.edit_model.edit import Edit, apply
from tools.edit_model.phrasing import Phrasing
from tools.edit_model.source import SourceFile, Unit
from tools.edit_model.transforms import (
    braces_bugs,
    braces_comments,
    braces_literals,
    braces_names,
    braces_parameters,
    braces_refactorings,
    braces_statements,
    javascript_semantic,
)
from tools.edit_model.transforms.braces_view import check

MODULES = (
    braces_names,
    braces_parameters,
    braces_literals,
    braces_statements,
    braces_comments,
    braces_refactorings,
    javascript_semantic,
)
TRANSFORMS = {kind: transform for module in MODULES for kind, transform in module.TRANSFORMS.items()}
INVERSE = {**braces_bugs.INVERSE, **braces_comments.INVERSE}

SAMPLES = {
    "javascript": """\
class Queue {
  // Adds an item.
  async push(item, limit = 10) {
    const size = this.items.length;
    if (size >= limit) {
      console.log('queue is full');
      throw new Error('too many items');
    } else {
      this.items.push(item);
    }
    let total = 0;
    for (let i = 0; i < this.items.length; i++) {
      total = total + this.items[i].weight;
    }
    const options = { total: total, limit: 3, name: 'queue' };
    await this.save(options, total - 1);
    const found = item && item.name;
    return found ? found : 'item ' + size;
  }

  names() {
    const result = [];
    this.items.forEach((entry) => {
      result.push(entry.name);
    });
    return result;
  }
}
""",
    "typescript": """\
export function area(width: number, height = 2): number {
  // Both must be known.
  if (width == 0 || !height) return 0;
  const shape = { width, height, unit: "cm" };
  const product = shape.width * shape.height;
  if (product > 100) {
    console.warn(`large: ${product}`);
  }
  return product;
}
""",
    "java": """\
class Counter {
    private int count = 0;

    public int add(int amount, String label) {
        // Refuses what is negative.
        if (amount < 0) {
            throw new IllegalArgumentException("amount is negative");
        }
        int before = this.count;
        this.count += amount;
        System.out.println(label);
        return before + amount;
    }
}
""",
    "rust": """\
fn total(values: &[u32], limit: u32) -> u32 {
    let mut sum = 0;
    for value in values {
        if *value > limit {
            println!("too large");
        }
        sum += value;
    }
    sum
}
""",
    "go": """\
func Total(values []int, limit int) int {
	// Sums what is small.
	sum := 0
	for _, value := range values {
		if value > limit {
			fmt.Println("too large")
			continue
		}
		sum += value
	}
	return sum
}
""",
    "c": """\
int total(const int *values, int count) {
    int sum = 0;
    /* One after the other. */
    for (int i = 0; i < count; i++) {
        sum = sum + values[i];
    }
    if (sum > 100) {
        printf("large\\n");
    }
    return sum;
}
""",
}


def units(language: str, code: str) -> list[Unit]:
    """The units of a file with this code."""
    return list(SourceFile("package", "file", language, code.encode()).units(2))


def result(unit: Unit, edit: Edit) -> str:
    """The file after the edit."""
    return apply(unit.file.data, edit.replacements).decode()


def one(
    transform: Callable[[Unit, Phrasing], Edit | None], language: str, code: str, seed: int = 0
) -> tuple[str, str]:
    """The instruction and the code after the first edit that some seed makes of the code's first unit."""
    for number in range(seed, seed + 60):
        edit = transform(units(language, code)[0], Phrasing(Random(number)))
        if edit is not None:
            return edit.instruction, result(units(language, code)[0], edit)
    raise AssertionError("no edit")


@pytest.mark.parametrize("language", SAMPLES)
def test_every_result_parses_differs_and_stays_in_its_unit(language: str) -> None:
    """Whatever a transformation makes of good code parses, changes it, and touches only the unit."""
    made: set[str] = set()
    for seed in range(12):
        for unit in units(language, SAMPLES[language]):
            for kind, transform in TRANSFORMS.items():
                edit = transform(unit, Phrasing(Random(seed), held_out=seed % 3 == 0))
                if edit is not None:
                    made.add(kind)
                    assert check(unit, edit), (kind, edit, result(unit, edit))
                    assert edit.instruction == edit.instruction.strip()
    assert {"rename-variable", "rename-parameter", "add-comment", "add-log", "delete-statement"} <= made


@pytest.mark.parametrize("language", SAMPLES)
def test_planted_mistakes_differ_and_stay_in_their_unit(language: str) -> None:
    """The code with a mistake differs from the good code and keeps all lines around the unit."""
    made = set()
    for seed in range(12):
        for unit in units(language, SAMPLES[language]):
            for kind, transform in INVERSE.items():
                edit = transform(unit, Phrasing(Random(seed)))
                if edit is not None:
                    made.add(kind)
                    assert result(unit, edit) != unit.file.data.decode()
                    assert all(unit.start <= r.start <= r.end <= unit.end for r in edit.replacements)
    assert {"fix-syntax", "fix-operator"} <= made


def test_other_languages_are_left_alone() -> None:
    """A transformation returns None for a language it doesn't know."""
    unit = units("python", "def f(a):\n    b = a\n    return b\n")[0]
    assert all(
        transform(unit, Phrasing(Random(0))) is None for transform in [*TRANSFORMS.values(), *INVERSE.values()]
    )


def test_a_renamed_variable_keeps_the_property_it_was_the_shorthand_of() -> None:
    """A shorthand property becomes a pair with the old key."""
    code = "function f(a) {\n  const size = a.size;\n  return { size, other: size };\n}\n"
    instruction, after = one(braces_names.rename_variable, "javascript", code)
    name = after.split("const ")[1].split(" =")[0]
    assert name != "size" and name in instruction
    assert after == f"function f(a) {{\n  const {name} = a.size;\n  return {{ size: {name}, other: {name} }};\n}}\n"


def test_a_name_declared_twice_is_not_renamed() -> None:
    """A variable that is declared in two blocks of a function is left alone."""
    code = "function f(a) {\n  if (a) {\n    let x = 1;\n    g(x);\n  }\n  let x = 2;\n  g(x);\n}\n"
    unit = units("javascript", code)[0]
    assert all(braces_names.rename_variable(unit, Phrasing(Random(seed))) is None for seed in range(20))


def test_a_guard_has_the_file_s_indentation_and_semicolons() -> None:
    """A guard is indented with tabs and has no semicolon where the function has none."""
    code = "function f(value) {\n\tconst a = value.a\n\tg(a)\n}\n"
    _, after = one(braces_statements.add_guard, "javascript", code)
    lines = after.splitlines()
    assert lines[1].startswith("\tif (") and lines[1].endswith(") {")
    assert lines[2].startswith("\t\treturn") and not lines[2].endswith(";") and lines[3] == "\t}"


def test_an_error_is_thrown_with_the_file_s_quotes() -> None:
    """The message stands in the quotes that the function's other strings have."""
    _, after = one(braces_statements.add_raise, "javascript", 'function f(x) {\n    g("a");\n    return x;\n}\n')
    assert "throw new " in after and '("' in after.splitlines()[2] and after.splitlines()[2].endswith('");')


def test_an_index_loop_becomes_for_of() -> None:
    """The index goes, and the first statement's variable becomes the loop's."""
    loop = "for (let i = 0; i < rows.length; i++) {\n    const row = rows[i];\n    g(row);\n  }\n"
    code = "function f(rows) {\n  " + loop + "}\n"
    _, after = one(javascript_semantic.for_of, "javascript", code)
    assert after == "function f(rows) {\n  for (const row of rows) {\n    g(row);\n  }\n}\n"


def test_a_concatenation_becomes_a_template_literal() -> None:
    """Strings are joined and values are interpolated."""
    code = "function f(name, size) {\n  const a = 'x ' + name + ': ' + size;\n  return a;\n}\n"
    _, after = one(javascript_semantic.to_template, "javascript", code)
    assert "const a = `x ${name}: ${size}`;" in after


def test_an_if_around_a_function_s_rest_becomes_an_early_return() -> None:
    """The condition is negated, the function returns, and the body is dedented."""
    code = "function f(a) {\n  g();\n  if (a > 1) {\n    h(a);\n  }\n}\n"
    _, after = one(braces_refactorings.early_return, "javascript", code)
    assert after == "function f(a) {\n  g();\n  if (a <= 1) {\n    return;\n  }\n  h(a);\n}\n"


def test_a_removed_statement_takes_a_double_blank_line_with_it() -> None:
    """Where a blank line stood on both sides, one is left."""
    code = "function f(a) {\n  one(a);\n\n  console.log('here');\n\n  return a;\n}\n"
    for seed in range(200):
        edit = braces_statements.delete_statement(units("javascript", code)[0], Phrasing(Random(seed)))
        if edit is not None and "console" in edit.instruction:
            assert result(units("javascript", code)[0], edit) == "function f(a) {\n  one(a);\n\n  return a;\n}\n"
            return
    raise AssertionError("never removed")


def test_successive_declarations_become_one_pattern() -> None:
    """Variables that take an object's properties of their names are destructured together."""
    code = "function f(o) {\n  const a = o.a;\n  const b = o.b;\n  return a + b;\n}\n"
    _, after = one(javascript_semantic.destructuring, "javascript", code)
    assert after == "function f(o) {\n  const { a, b } = o;\n  return a + b;\n}\n"


def test_courtesies_go_with_imperatives_only() -> None:
    """No instruction says "Please the" or "can you there's"."""
    for seed in range(150):
        edit = braces_bugs.wrong_operator(units("c", SAMPLES["c"])[0], Phrasing(Random(seed)))
        assert edit is None or not edit.instruction.startswith(
            ("Please the", "Please in", "can you the", "can you in")
        )
