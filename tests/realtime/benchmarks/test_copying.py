"""What is generated beside llama-server: edits of much text, as the service asks for them."""

from __future__ import annotations

from pathlib import Path

from warmline.engine import load_tokenizer
from warmline.realtime.benchmarks.copying import copies
from warmline.realtime.benchmarks.warm_texts import PROJECT_EDITS
from warmline.realtime.evaluation.records import EditRecord, read_records


def test_long_ranges_are_asked_for_with_room_to_answer(default_model: Path) -> None:
    """The draft is the range's text and stands in the prompt; the answer may be a little longer."""
    records = [record for record in read_records(PROJECT_EDITS) if isinstance(record, EditRecord)]
    tokenizer = load_tokenizer(str(default_model))
    planned = copies(records)(tokenizer, 2048)
    assert 4 <= len(planned) <= 12
    ranges = {record.before.strip() for record in records}
    for copying in planned:
        assert len(copying.prompt) + copying.max_tokens <= 2048
        drafted = b"".join(map(tokenizer.token_bytes, copying.draft)).decode()
        assert any(text in drafted for text in ranges)
        assert len(copying.draft) - 8 < copying.max_tokens < len(copying.draft) + 40
    assert copies(records)(tokenizer, 128) == []
