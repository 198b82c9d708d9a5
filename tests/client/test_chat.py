"""Conversations, whose turns the server keeps."""

from __future__ import annotations

import pytest
from warmline.client import ConnectionLost, RequestError, connect
from warmline.realtime.protocol import Chat, Delta, Done, EndChat, Error, Open, Receipt


async def test_a_conversation_sends_each_message_once(scripted) -> None:
    """Replies stream; documents are named; the block's end lets the server forget it."""
    said = []

    async def script(peer) -> None:
        await peer.greet()
        for answer in ("It adds ", "Yes"):
            request = await peer.accept(Chat)
            said.append(request)
            await peer.send(Delta(1, answer), Delta(1, "😀"))
            await peer.send(Done(request.request, "stop", Receipt(prompt_tokens=9, cached_tokens=7)))
        said.append(await peer.next(EndChat))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        document = await session.open("file:///a.py", "a + b")
        async with session.conversation("talk") as chat:
            reply = chat.say("What does it do?\ud800", documents=[document], max_tokens=7, stop="\n", seed=3)
            assert "".join([piece async for piece in reply]) == "It adds 😀" == reply.text
            result = await reply.result()
            assert (result.text, result.conversation, result.receipt.cached_tokens) == ("It adds 😀", "talk", 7)
            assert result.ttft is not None
            assert (await chat.say("Sure?").result()).text == "Yes😀"
        await session.ping()
    first, second, end = said
    assert (first.conversation, first.text, first.documents) == ("talk", "What does it do?�", ("file:///a.py",))
    assert (first.sampling.max_tokens, first.sampling.stop, first.sampling.seed) == (7, ("\n",), 3)
    assert (second.text, second.documents, second.sampling.max_tokens) == ("Sure?", (), 512)
    assert end == EndChat("talk")


async def test_a_reply_is_a_request_like_others(scripted) -> None:
    """It can be cancelled, interrupted and refused."""

    async def script(peer) -> None:
        await peer.greet()
        request = await peer.next(Chat)
        await peer.send(Error(request.request, "too_many_conversations", "64 are open; end one", True))
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        with pytest.raises(RequestError, match="64 are open; end one") as caught:
            await session.chat("talk", "hello").result()
        assert caught.value.retryable


async def test_conversations_without_a_name_get_one_of_their_own(scripted) -> None:
    """No two are the same."""

    async def script(peer) -> None:
        await peer.greet()
        await peer.idle()

    async with scripted(script) as url, connect(url) as session:
        names = {session.conversation().name for _ in range(10)}
        assert len(names) == 10


async def test_a_message_that_makes_no_sense_never_leaves(scripted) -> None:
    """Names, numbers of documents and parameters are checked where they are written."""

    async def script(peer) -> None:
        await peer.greet()
        await peer.idle()
        assert not [message for message in peer.messages if isinstance(message, Chat | EndChat)]
        assert sum(isinstance(message, Open) for message in peer.messages) == 17

    async with scripted(script) as url, connect(url) as session:
        documents = [await session.open(f"{number}", "") for number in range(17)]
        for call in (session.chat, lambda name, text: session.conversation(name)):
            with pytest.raises(ValueError, match="needs a name of 1 to 4,096 characters"):
                call("", "hello")
        with pytest.raises(ValueError, match="needs a name"):
            await session.end_chat("x" * 4097)
        with pytest.raises(ValueError, match="17 documents; at most 16"):
            session.chat("talk", "hello", documents=documents)
        with pytest.raises(ValueError, match="max_tokens"):
            session.chat("talk", "hello", max_tokens=0)
        await session.ping()


async def test_a_conversation_outlives_its_connection_quietly(scripted) -> None:
    """Leaving the block after the end of the connection raises nothing more."""

    async def script(peer) -> None:
        await peer.greet()
        await peer.next(Chat)
        peer.connection.transport.abort()

    async with scripted(script) as url, connect(url) as session:
        with pytest.raises(ConnectionLost, match="the connection broke"):
            async with session.conversation("talk") as chat:
                await chat.say("hello").result()
