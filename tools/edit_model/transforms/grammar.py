"""The node types of each curly-brace language's tree-sitter grammar, by what they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Grammar:
    """Node types of one language, and how it writes a few things.

    Attributes:
        functions: functions and methods that may have a body.
        lambdas: functions without a name.
        blocks: statements in braces.
        bodies: whose named children are a block's statements.
        statements: statements that stand on their own, without what makes a condition or a loop.
        ifs: conditionals that are statements.
        loops: each loop and the word for it.
        returns: what returns a value.
        throws: what raises an exception.
        calls: calls, by the field that holds what is called.
        bindings: (parent, field) that declare a name, and what the name is: local, parameter, function or field.
        patterns: nodes between a name and what declares it.
        not_references: (parent, field) whose identifier is no reference to a variable.
        fields: (parent, field) that name an attribute of an object, and the field that holds the object.
        strings: string literals with quotes.
        contents: the text of a string literal.
        integers: integer literals (perhaps of other numbers too).
        booleans: literals of truth values.
        comments: comments.
        binaries: expressions of two operands.
        parameters: the lists of a function's parameters.
        arguments: the lists of a call's arguments.
        null: how "no value" is written.
        names: the case of its variables, as ``words.new_name`` names it.
    """

    functions: frozenset[str]
    lambdas: frozenset[str]
    blocks: frozenset[str]
    bodies: frozenset[str]
    statements: frozenset[str]
    ifs: frozenset[str]
    loops: dict[str, str]
    returns: frozenset[str]
    throws: frozenset[str]
    calls: dict[str, str]
    bindings: dict[tuple[str, str], str]
    patterns: frozenset[str]
    not_references: frozenset[tuple[str, str]]
    fields: dict[tuple[str, str], str]
    strings: frozenset[str]
    contents: frozenset[str]
    integers: frozenset[str]
    booleans: frozenset[str]
    comments: frozenset[str]
    binaries: frozenset[str]
    parameters: frozenset[str]
    arguments: frozenset[str]
    null: str
    names: str


_JAVASCRIPT: Final = Grammar(
    functions=frozenset({"function_declaration", "generator_function_declaration", "method_definition"}),
    lambdas=frozenset({"arrow_function", "function_expression", "generator_function"}),
    blocks=frozenset({"statement_block"}),
    bodies=frozenset({"statement_block"}),
    statements=frozenset(
        {"expression_statement", "lexical_declaration", "variable_declaration", "return_statement", "throw_statement",
         "break_statement", "continue_statement"}
    ),
    ifs=frozenset({"if_statement"}),
    loops={"for_statement": "for", "for_in_statement": "for", "while_statement": "while", "do_statement": "do"},
    returns=frozenset({"return_statement"}),
    throws=frozenset({"throw_statement"}),
    calls={"call_expression": "function"},
    bindings={
        ("variable_declarator", "name"): "local",
        ("required_parameter", "pattern"): "parameter",
        ("optional_parameter", "pattern"): "parameter",
        ("formal_parameters", ""): "parameter",
        ("arrow_function", "parameter"): "parameter",
        ("catch_clause", "parameter"): "local",
        ("for_in_statement", "left"): "local",
        ("function_declaration", "name"): "function",
        ("generator_function_declaration", "name"): "function",
        ("function_expression", "name"): "function",
        ("class_declaration", "name"): "class",
        ("class", "name"): "class",
    },
    patterns=frozenset(
        {"object_pattern", "pair_pattern", "array_pattern", "rest_pattern", "assignment_pattern",
         "object_assignment_pattern"}
    ),
    not_references=frozenset(),
    fields={("member_expression", "property"): "object"},
    strings=frozenset({"string"}),
    contents=frozenset({"string_fragment"}),
    integers=frozenset({"number"}),
    booleans=frozenset({"true", "false"}),
    comments=frozenset({"comment"}),
    binaries=frozenset({"binary_expression"}),
    parameters=frozenset({"formal_parameters"}),
    arguments=frozenset({"arguments"}),
    null="null",
    names="camel",
)  # fmt: skip

GRAMMAR: Final[dict[str, Grammar]] = {
    "javascript": _JAVASCRIPT,
    "typescript": _JAVASCRIPT,
    "tsx": _JAVASCRIPT,
    "rust": Grammar(
        functions=frozenset({"function_item"}),
        lambdas=frozenset({"closure_expression"}),
        blocks=frozenset({"block"}),
        bodies=frozenset({"block"}),
        statements=frozenset({"expression_statement", "let_declaration"}),
        ifs=frozenset({"if_expression"}),
        loops={"for_expression": "for", "while_expression": "while", "loop_expression": "loop"},
        returns=frozenset({"return_expression"}),
        throws=frozenset(),
        calls={"call_expression": "function"},
        bindings={
            ("let_declaration", "pattern"): "local",
            ("parameter", "pattern"): "parameter",
            ("for_expression", "pattern"): "local",
            ("closure_parameters", ""): "parameter",
            ("let_condition", "pattern"): "local",
            ("match_pattern", ""): "local",
            ("function_item", "name"): "function",
            ("const_item", "name"): "constant",
        },
        patterns=frozenset(
            {"tuple_pattern", "tuple_struct_pattern", "ref_pattern", "mut_pattern", "reference_pattern", "or_pattern",
             "struct_pattern", "field_pattern", "captured_pattern", "slice_pattern"}
        ),
        not_references=frozenset({("scoped_identifier", "name"), ("scoped_identifier", "path"),
                                  ("macro_invocation", "macro"), ("tuple_struct_pattern", "type")}),
        fields={("field_expression", "field"): "value"},
        strings=frozenset({"string_literal"}),
        contents=frozenset({"string_content"}),
        integers=frozenset({"integer_literal"}),
        booleans=frozenset({"boolean_literal"}),
        comments=frozenset({"line_comment", "block_comment"}),
        binaries=frozenset({"binary_expression"}),
        parameters=frozenset({"parameters"}),
        arguments=frozenset({"arguments"}),
        null="None",
        names="snake",
    ),
    "java": Grammar(
        functions=frozenset({"method_declaration", "constructor_declaration"}),
        lambdas=frozenset({"lambda_expression"}),
        blocks=frozenset({"block", "constructor_body"}),
        bodies=frozenset({"block", "constructor_body"}),
        statements=frozenset(
            {"expression_statement", "local_variable_declaration", "return_statement", "throw_statement",
             "break_statement", "continue_statement", "assert_statement"}
        ),
        ifs=frozenset({"if_statement"}),
        loops={"for_statement": "for", "enhanced_for_statement": "for", "while_statement": "while",
               "do_statement": "do"},
        returns=frozenset({"return_statement"}),
        throws=frozenset({"throw_statement"}),
        calls={"method_invocation": "name"},
        bindings={
            ("variable_declarator", "name"): "local",
            ("formal_parameter", "name"): "parameter",
            ("enhanced_for_statement", "name"): "local",
            ("catch_formal_parameter", "name"): "local",
            ("resource", "name"): "local",
            ("lambda_expression", "parameters"): "parameter",
            ("inferred_parameters", ""): "parameter",
            ("method_declaration", "name"): "function",
            ("instanceof_expression", "name"): "local",
        },
        patterns=frozenset(),
        not_references=frozenset({("method_invocation", "name"), ("field_access", "field"),
                                  ("method_declaration", "name"), ("constructor_declaration", "name"),
                                  ("labeled_statement", ""), ("break_statement", ""), ("continue_statement", ""),
                                  ("method_reference", ""), ("annotation", "name"), ("marker_annotation", "name"),
                                  ("class_declaration", "name"), ("element_value_pair", "key"),
                                  ("scoped_identifier", "name"), ("switch_label", "")}),
        fields={("field_access", "field"): "object"},
        strings=frozenset({"string_literal"}),
        contents=frozenset({"string_fragment"}),
        integers=frozenset({"decimal_integer_literal"}),
        booleans=frozenset({"true", "false"}),
        comments=frozenset({"line_comment", "block_comment"}),
        binaries=frozenset({"binary_expression"}),
        parameters=frozenset({"formal_parameters"}),
        arguments=frozenset({"argument_list"}),
        null="null",
        names="camel",
    ),
    "c": Grammar(
        functions=frozenset({"function_definition"}),
        lambdas=frozenset(),
        blocks=frozenset({"compound_statement"}),
        bodies=frozenset({"compound_statement"}),
        statements=frozenset(
            {"expression_statement", "declaration", "return_statement", "break_statement", "continue_statement",
             "goto_statement"}
        ),
        ifs=frozenset({"if_statement"}),
        loops={"for_statement": "for", "while_statement": "while", "do_statement": "do"},
        returns=frozenset({"return_statement"}),
        throws=frozenset(),
        calls={"call_expression": "function"},
        bindings={
            ("declaration", "declarator"): "local",
            ("init_declarator", "declarator"): "local",
            ("parameter_declaration", "declarator"): "parameter",
            ("function_declarator", "declarator"): "function",
        },
        patterns=frozenset({"pointer_declarator", "array_declarator", "parenthesized_declarator"}),
        not_references=frozenset({("preproc_def", "name"), ("preproc_ifdef", "name"), ("preproc_defined", "")}),
        fields={("field_expression", "field"): "argument"},
        strings=frozenset({"string_literal"}),
        contents=frozenset({"string_content"}),
        integers=frozenset({"number_literal"}),
        booleans=frozenset({"true", "false"}),
        comments=frozenset({"comment"}),
        binaries=frozenset({"binary_expression"}),
        parameters=frozenset({"parameter_list"}),
        arguments=frozenset({"argument_list"}),
        null="NULL",
        names="snake",
    ),
    "go": Grammar(
        functions=frozenset({"function_declaration", "method_declaration"}),
        lambdas=frozenset({"func_literal"}),
        blocks=frozenset({"block"}),
        bodies=frozenset({"statement_list"}),
        statements=frozenset(
            {"expression_statement", "short_var_declaration", "var_declaration", "assignment_statement",
             "return_statement", "break_statement", "continue_statement", "inc_statement", "dec_statement",
             "go_statement", "defer_statement"}
        ),
        ifs=frozenset({"if_statement"}),
        loops={"for_statement": "for"},
        returns=frozenset({"return_statement"}),
        throws=frozenset(),
        calls={"call_expression": "function"},
        bindings={
            ("short_var_declaration", "left"): "local",
            ("var_spec", "name"): "local",
            ("const_spec", "name"): "constant",
            ("parameter_declaration", "name"): "parameter",
            ("variadic_parameter_declaration", "name"): "parameter",
            ("range_clause", "left"): "local",
            ("function_declaration", "name"): "function",
            ("method_declaration", "name"): "function",
        },
        patterns=frozenset({"expression_list"}),
        not_references=frozenset({("labeled_statement", "label")}),
        fields={("selector_expression", "field"): "operand"},
        strings=frozenset({"interpreted_string_literal"}),
        contents=frozenset({"interpreted_string_literal_content"}),
        integers=frozenset({"int_literal"}),
        booleans=frozenset({"true", "false"}),
        comments=frozenset({"comment"}),
        binaries=frozenset({"binary_expression"}),
        parameters=frozenset({"parameter_list"}),
        arguments=frozenset({"argument_list"}),
        null="nil",
        names="camel",
    ),
}  # fmt: skip

JAVASCRIPT: Final = frozenset({"javascript", "typescript", "tsx"})
"""The languages that are JavaScript or more."""

TYPESCRIPT: Final = frozenset({"typescript", "tsx"})
"""Those of them with types."""
