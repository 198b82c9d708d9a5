"""Read the JSON files that lie beside models and adapters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..errors import ModelError


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file; empty where there is no such file.

    Raises:
        ModelError: the file holds no JSON object.

    """
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} can't be read: {error}") from error
    if not isinstance(content, dict):
        raise ModelError(f"{path} should hold a JSON object, not a {type(content).__name__}")
    return content
