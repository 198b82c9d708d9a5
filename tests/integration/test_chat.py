"""Conversations with the default model: what a turn costs."""

from __future__ import annotations

from warmline.realtime.protocol import MSGPACK, Chat, Delta, Done, Hello, Open, Sampling, client_codec
from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

BLOCK = 16
"""Tokens that the prefix cache keeps together."""


async def test_a_turn_computes_what_it_adds(server):
    """All that was said before is found in the cache, the answers' own tokens included."""
    codec = client_codec(MSGPACK)
    text = "".join(f"value_{number} = {number}\n" for number in range(60))
    async with connect(server.url, subprotocols=[Subprotocol(MSGPACK)]) as socket:

        async def say(*messages) -> None:
            for message in messages:
                await socket.send(codec.encode(message))

        await say(Hello(), Open("file:///values.py", 1, "python", text))
        before = 0
        for request, words in enumerate(("What is in this file?", "And the first line?", "Thank you."), start=1):
            sampling = Sampling(max_tokens=40)
            await say(Chat(request, "c", words, ("file:///values.py",), sampling))
            said = ""
            while not isinstance(message := codec.decode(await socket.recv()), Done):
                said += message.text if isinstance(message, Delta) else ""
            receipt = message.receipt
            assert message.reason in ("stop", "length")
            assert said
            assert receipt.prompt_tokens == (receipt.warmed_tokens + receipt.cached_tokens + receipt.computed_tokens)
            # The last token of an answer was never computed, and less than a block isn't kept.
            assert receipt.cached_tokens > before - BLOCK - 1
            assert receipt.prompt_tokens > before
            if request > 1:
                assert receipt.computed_tokens < 60, "the document was not computed again"
            before = receipt.prompt_tokens + receipt.output_tokens
