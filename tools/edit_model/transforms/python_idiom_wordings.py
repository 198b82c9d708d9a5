"""How Python idioms are asked for."""

from __future__ import annotations

from typing import Final

IS_NONE: Final = (
    "Compare with None using is",
    "Use is None",
    "Fix the comparison with None",
    "Don't compare to None with ==",
    "Use the identity operator in {seen}",
    "Fix {seen}, compare to None by identity",
    "Use is for None in {seen}",
    "Rewrite {seen} with is",
    "Make the None check of {value} use is",
    "Replace == with is in the None check",
    "None should be compared by identity",
)


IS_NONES: Final = (
    "Use is and is not for all comparisons with None",
    "Fix the comparisons with None",
    "Compare to None with is everywhere",
    "Never use == with None",
)


TRUTH: Final = (
    "Remove the comparison with {truth}",
    "Don't compare with {truth}",
    "Simplify {seen}",
    "Drop the redundant == {truth}",
    "Remove the redundant comparison in {seen}",
    "Use {good} as the condition",
    "Simplify the condition {seen}",
    "No == {truth} please",
    "Make the condition just {good}",
    "The comparison to {truth} is redundant",
    "Replace {seen} with {good}",
)


EMPTY: Final = (
    "Use truthiness instead of len",
    "Don't use len to check for emptiness",
    "Simplify {seen}",
    "Simplify the check of the length of {name}",
    "Use the truth value of {name}",
    "Replace {seen} with {good}",
    "Use {good} instead of checking len",
    "Check {name} directly instead of its length",
    "Drop the len() in {seen}",
    "Make the emptiness check pythonic",
    "Rely on truthiness in {seen}",
)


LENGTH: Final = (
    "Check the length explicitly: {good}",
    "Use {good} as the condition instead of {seen}",
    "Replace the condition {seen} with {good}",
    "Make the condition {seen} explicit with len: {good}",
    "Compare the length of {name} with 0 in the condition {seen}",
    "Change the condition {seen} to {good}",
    "Use an explicit length check, {good}, instead of truthiness",
    "Write the condition {seen} as {good}",
)


NOT_IN: Final = (
    "Use {operator}",
    "Use the operator {operator}",
    "Rewrite {seen} with {operator}",
    "Simplify {seen}",
    "Fix the negation in {seen}",
    "Use {operator} instead of not in front",
    "Replace {seen} using {operator}",
    "Make {seen} more readable with {operator}",
    "Prefer {operator} in {seen}",
    "Write {seen} with {operator}",
)


AUGMENTED: Final = (
    "Use {operator}",
    "Use augmented assignment",
    "Use {operator} for {name}",
    "Simplify {seen}",
    "Use an augmented assignment for {name}",
    "Shorten {seen} with {operator}",
    "Rewrite {seen} using {operator}",
    "Make {seen} an augmented assignment",
    "Use {operator} in {seen}",
    "Simplify the update of {name}",
    "Replace {seen} with the {operator} form",
)


NOT_AUGMENTED: Final = (
    "Write {seen} out without {operator}",
    "Don't use {operator} for {name}",
    "Expand the augmented assignment",
    "Expand {seen}",
    "Replace {operator} with a plain assignment",
    "Use a plain assignment instead of {operator}",
    "Use a normal assignment in {seen}",
    "Rewrite {seen} as a plain assignment",
    "Spell out {seen}",
)


def literal_wordings(old: str, new: str) -> tuple[str, ...]:
    """For a literal of one type that is to be one of another."""
    return (
        f"Use a {new} instead of a {old}",
        f"Make {{name}} a {new}",
        f"Make {{literal}} a {new}",
        f"Use a {new} {{place}}",
        f"Replace the {old} with a {new}",
        f"Turn {{literal}} into a {new}",
        f"Convert the {old} {{place}} to a {new}",
        f"Change {{name}} from a {old} to a {new}",
        f"Change the {old} {{literal}} to a {new}",
        f"Use a {new} for {{name}}",
        f"Switch from {old} to {new}",
        f"Use a {new} rather than the {old} {{literal}}",
        f"It should be a {new}, not a {old}",
        f"Make {{name}} a {new} rather than a {old}",
        f"Replace the {old} {{place}} by a {new}",
        f"The {old} {{literal}} should be a {new}",
    )


ISINSTANCE_TUPLE: Final = (
    "Use a single isinstance",
    "Merge the isinstance calls",
    "Combine the isinstance checks",
    "Use isinstance with a tuple",
    "Merge the isinstance checks of {name}",
    "Pass a tuple to isinstance",
    "Combine the isinstance calls on {name} into one with a tuple",
    "Use one isinstance check for {name}",
    "Simplify the isinstance checks",
    "Collapse the isinstance calls for {name}",
)


ISINSTANCE_OR: Final = (
    "Split the isinstance check into separate calls",
    "Use separate isinstance calls joined with or",
    "Split isinstance on {name} into one call per type",
    "Expand the tuple in isinstance with or",
    "Write the isinstance check of {name} with or",
    "Replace the isinstance tuple with or",
    "Use or instead of the tuple in isinstance",
    "One isinstance call per type please",
)


CHAIN_WORDS: Final = (
    "Use a chained comparison",
    "Simplify {seen}",
    "Chain the comparisons",
    "Chain the comparisons of {name}",
    "Use a chained comparison for {name}",
    "Simplify {seen} to a chained comparison",
    "Combine the comparisons of {name} by chaining",
    "Rewrite {seen} as a chained comparison",
    "Make {seen} a chained comparison",
)


UNCHAIN: Final = (
    "Split the chained comparison",
    "Split the chained comparison with and",
    "Don't chain the comparisons",
    "Write {seen} with and",
    "Split {seen} into two comparisons",
    "Use and instead of chaining in {seen}",
    "Expand the chained comparison of {name}",
    "Rewrite {seen} as two comparisons joined with and",
)


DICT_GET: Final = (
    "Use dict.get",
    "Use .get()",
    "Simplify with .get()",
    "Use get on {owner}",
    "Replace the if/else with .get()",
    "Use get with a default",
    "Get {name} from {owner} with get()",
    "Replace the key check with get",
    "Simplify the lookup of {key} in {owner} with get",
    "Turn the if/else into a call of get",
    "Look {key} up in {owner} with get",
    "Use get instead of checking for {key}",
)


NO_GET: Final = (
    "Check for the key with if/else instead of get",
    "Replace .get() with an explicit if/else for {name}",
    "Expand the get on {owner} into if/else",
    "Use an if on {key} in {owner} instead of get for {name}",
    "Write the get for {name} out as if/else",
    "Don't use get for {name}, check whether the key is there",
    "Use if {key} in {owner} and else rather than get",
    "Expand the get call for {name} into an if statement",
)


ENUMERATE: Final = (
    "Use enumerate",
    "Use enumerate instead of range(len())",
    "Loop over {iter} with enumerate",
    "Replace range(len()) with enumerate for {iter}",
    "Use enumerate in the loop over {iter}",
    "Convert the index loop to enumerate",
    "Iterate with enumerate",
    "Make the loop over {iter} use enumerate",
    "Rewrite the for loop using enumerate",
    "Simplify the loop with enumerate",
)


NO_ENUMERATE: Final = (
    "Use range(len()) instead of enumerate",
    "Loop over the indices of {iter} instead of using enumerate",
    "Replace enumerate with range(len()) for {iter}",
    "Use an index loop instead of enumerate",
    "Iterate over the indices and take the element in the first line of the loop",
    "No enumerate, use range(len())",
)


ZIP: Final = (
    "Use zip",
    "Use zip instead of indices",
    "Loop over {iter} and {other} with zip",
    "Replace the index loop with zip",
    "Iterate over {iter} and {other} in parallel",
    "Use zip in the loop over {iter} and {other}",
    "Use zip for the loop",
    "Simplify the loop with zip",
    "Rewrite the for loop using zip",
)


ITEMS: Final = (
    "Use items()",
    "Loop over items()",
    "Use items() for {iter}",
    "Iterate over the items of {iter}",
    "Use .items() instead of looking up the value",
    "Replace the lookup in the loop with items()",
    "Loop over keys and values of {iter}",
    "Simplify the loop with .items()",
    "Make the loop over {iter} use items()",
)


NO_ITEMS: Final = (
    "Loop over the keys only and look the value up in the first line",
    "Iterate over {iter} and look up the value inside the loop",
    "Don't use items() for {iter}, look the value up by key",
    "Replace items() of {iter} with a loop over the keys and a lookup",
    "Loop over the keys of {iter} instead of its items",
)


KEYS: Final = (
    "Remove the redundant .keys()",
    "Iterate over {iter} directly",
    "Drop .keys()",
    "Loop over {iter} without keys()",
    "Remove the unnecessary call of keys on {iter}",
    "Simplify the loop: keys() isn't needed",
    "No need for .keys() here",
    "Get rid of .keys() in the loop over {iter}",
)


WITH: Final = (
    "Use a with statement",
    "Use with to open the file",
    "Use a context manager",
    "Open {name} in a with statement",
    "Use a with block for {name} instead of close()",
    "Use a context manager for {name}",
    "Close {name} with a with statement",
    "Replace the close() of {name} with a with block",
    "Make sure {name} is closed by using with",
    "Wrap the use of {name} in a with statement",
)


WALRUS: Final = (
    "Use the walrus operator",
    "Use :=",
    "Use an assignment expression",
    "Assign {name} in the if",
    "Use the walrus operator for {name}",
    "Combine the assignment of {name} with the if",
    "Use := for {name}",
    "Move the assignment of {name} into the condition",
    "Merge {name} and the if with a walrus",
    "Fold the assignment of {name} into the if with :=",
)


NO_WALRUS: Final = (
    "Don't use the walrus operator",
    "Replace := with a separate assignment",
    "Assign {name} before the if",
    "Move the assignment of {name} out of the condition",
    "Remove the walrus operator",
    "Use a normal assignment for {name} before the if",
    "Split the assignment expression from the if",
    "No walrus for {name} please",
    "Take the assignment of {name} out of the if",
)


ISINSTANCE: Final = (
    "Use isinstance",
    "Use isinstance instead of comparing types",
    "Replace {seen} with isinstance",
    "Check the type of {name} with isinstance",
    "Use isinstance for {name}",
    "Don't compare types, use isinstance",
    "Rewrite {seen} with isinstance",
    "Make {seen} an isinstance check",
    "Turn the type comparison into isinstance",
)


LITERAL_FOR_CALL: Final = (
    "Use {new} instead of {seen}",
    "Replace {seen} with a literal",
    "Use a literal instead of {seen}",
    "Change {seen} to {new}",
    "Use the literal {new}",
    "Make {seen} a literal",
    "Prefer {new} over {seen}",
    "Write {new} rather than {seen}",
)
