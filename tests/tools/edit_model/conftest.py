"""Training runs uncompiled here: compiling takes longer than the tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tools.edit_model.compiled import use_compiler


@pytest.fixture
def uncompiled() -> Iterator[None]:
    """The compiled parts of the network as plain operations."""
    use_compiler(False)
    yield
    use_compiler(True)
