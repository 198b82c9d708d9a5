"""All mechanical edits of Python: those that do exactly what the instruction spells out."""

from __future__ import annotations

from typing import Final

from tools.edit_model.transforms import (
    python_classes,
    python_comments,
    python_deletions,
    python_expressions,
    python_literals,
    python_names,
    python_parameters,
    python_statements,
    python_type_hints,
    python_wrapping,
)
from tools.edit_model.transforms.python_code import Transform

TRANSFORMS: Final[dict[str, Transform]] = {
    **python_names.TRANSFORMS,
    **python_parameters.TRANSFORMS,
    **python_type_hints.TRANSFORMS,
    **python_literals.TRANSFORMS,
    **python_expressions.TRANSFORMS,
    **python_statements.TRANSFORMS,
    **python_deletions.TRANSFORMS,
    **python_wrapping.TRANSFORMS,
    **python_comments.TRANSFORMS,
    **python_classes.TRANSFORMS,
}
