"""What editors ask by LSP, answered by way of a scripted service."""

from __future__ import annotations

import asyncio
import socket

import pytest
from warmline.client.lsp import edits
from warmline.realtime.protocol import (
    Accepted,
    Cancel,
    Change,
    Close,
    Complete,
    Delta,
    Done,
    Edit,
    Error,
    ErrorCode,
    Hello,
    Interrupt,
    Open,
    Ops,
    Steer,
    Steered,
    TextEdit,
)

URI = "file:///nowhere/a.py"
TEXT = "def f(x):\n    \n"


class Service:
    """What `serve_script` runs: on each connection it answers what it is told to, and keeps what came."""

    def __init__(self) -> None:
        self.messages: list[object] = []
        self.peer = None
        self.news = asyncio.Event()

    async def __call__(self, peer) -> None:
        await peer.greet()
        self.peer = peer
        while True:
            message = await peer.next(object)
            self.messages.append(message)
            if isinstance(message, Complete | Edit):
                await peer.send(Accepted(message.request, message.request % 8))
            elif isinstance(message, Cancel):
                await peer.send(Done(message.request, "cancel"))
            self.news.set()

    async def got(self, kind: type, count: int = 1):
        """The newest message of a kind, once there are so many."""
        while len(found := [message for message in self.messages if isinstance(message, kind)]) < count:
            self.news.clear()
            await self.news.wait()
        return found[-1]

    async def completes(self, text: str, count: int = 1, reason: str = "stop") -> Complete:
        """Answer a completion."""
        request = await self.got(Complete, count)
        await self.peer.send(Delta(request.request % 8, text), Done(request.request, reason))
        return request

    async def edits(self, operations: list, reason: str = "stop", count: int = 1) -> Edit:
        """Answer an edit."""
        request = await self.got(Edit, count)
        await self.peer.send(Ops(request.request % 8, operations), Done(request.request, reason))
        return request


@pytest.fixture
async def service(serve_script):
    service = Service()
    async with serve_script(service) as url:
        service.url = url
        yield service


@pytest.fixture
def no_url() -> str:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return f"ws://127.0.0.1:{unused.getsockname()[1]}"


async def opened(editor, service, text: str = TEXT, **more):
    """An open document that the service has."""
    buffer = editor.open(URI, text, **more)
    await service.got(Open)
    return buffer


# The handshake and documents --------------------------------------------------------------------------------------


async def test_it_announces_what_it_can(editing, service) -> None:
    """Inline completions, changes by their ranges, and its commands."""
    async with editing(service.url, handshake=False) as editor:
        capabilities = await editor.initialize()
        assert capabilities["inlineCompletionProvider"] == {}
        assert capabilities["textDocumentSync"]["change"] == 2
        assert capabilities["textDocumentSync"]["openClose"] is True
        commands = capabilities["executeCommandProvider"]["commands"]
        assert {"warmline.edit", "warmline.steer", "warmline.interrupt", "warmline.cancel"} <= set(commands)
        (said,) = await editor.hear("window/logMessage")
        assert "model" in said["message"]


@pytest.mark.parametrize(
    ("encodings", "chosen"),
    [(None, "utf-16"), (["utf-8", "utf-16"], "utf-8"), (["utf-32"], "utf-32"), (["ebcdic", "utf-16"], "utf-16")],
)
async def test_columns_count_what_the_editor_prefers(editing, service, encodings, chosen) -> None:
    """What was typed behind an emoji arrives where it was typed, in the units of the wire, and so does a request."""
    async with editing(service.url, encodings=encodings) as editor:
        assert editor.encoding == chosen
        await opened(editor, service, "é😀 = 1\n")
        editor.type(URI, 6, 6, "23")
        change = await service.got(Change)
        assert change.edits == [TextEdit(7, 7, "23")]
        asked = asyncio.ensure_future(editor.suggested(URI, 8))
        assert (await service.completes("4")).position == 9
        assert await asked == "é😀 = 123[4]\n"


async def test_several_changes_at_once_and_whole_texts_are_the_changes_that_they_make(editing, service) -> None:
    """Each counted in the result of the one before."""
    async with editing(service.url) as editor:
        buffer = await opened(editor, service, "a\nb\nc")
        editor.type(URI, 5, 5, "\n")
        await service.got(Change)
        edits = [{"range": buffer.range(0, 1), "newText": "AA"}, {"range": buffer.range(4, 5), "newText": ""}]
        editor.report(URI, buffer.edit(edits))
        await service.got(Change, 3)
        editor.report(URI, [{"text": "AA\nx\n\n"}])
        await service.got(Change, 4)
        editor.report(URI, [{"text": "AA\nx\n\n"}])
        editor.close(URI)
        await service.got(Close)
        changes = [change.edits for change in service.messages if isinstance(change, Change)]
        assert changes == [
            [TextEdit(5, 5, "\n")],
            [TextEdit(4, 5, "")],
            [TextEdit(0, 1, "AA")],
            [TextEdit(3, 4, "x")],
        ]


async def test_what_was_typed_while_a_document_was_handed_over_follows_it(editing, serve_script) -> None:
    """As the difference that it makes, however many keys there were."""
    begun, slow = asyncio.Event(), asyncio.Event()
    changes = []

    async def script(peer) -> None:
        await peer.greet()
        await peer.next(Open)
        begun.set()
        await slow.wait()
        changes.append(await peer.next(Change))
        await peer.idle()

    async with serve_script(script) as url, editing(url) as editor:
        editor.open(URI, "x = 1\n")
        await begun.wait()
        for index in range(300):
            editor.type(URI, index, index, "😀")
        await editor.command("warmline.status")
        slow.set()
        while not changes:
            await asyncio.sleep(0.01)
        assert changes[0].edits == [TextEdit(0, 0, "😀" * 300)]


@pytest.mark.parametrize("uri", ["file:///nowhere/.env", "git:/a.py", "file:///nowhere/dump.sql"])
async def test_what_is_excluded_never_leaves(editing, service, uri) -> None:
    """By any way: not when it is opened or typed in, not for a suggestion or an edit, which says why."""
    async with editing(service.url, {"exclude": ["**/.env", "*.sql"]}) as editor:
        await editor.hear("window/logMessage")
        editor.open(uri, "SECRET=1\n")
        editor.type(uri, 0, 0, "x")
        assert await editor.suggested(uri, 1, explicit=True) is None
        with pytest.raises(Exception, match="never sent") as refused:
            await editor.edit(uri, 0, 3, "change it")
        assert refused.value.code == "excluded"
        status = await editor.command("warmline.status")
        assert "never sent" in status["whyNothing"]
    assert service.messages == []


async def test_off_nothing_is_sent_and_no_connection_is_made(editing, service) -> None:
    """Silent everywhere; a command says so."""
    async with editing(service.url, {"enabled": False}) as editor:
        editor.open(URI, TEXT)
        assert await editor.suggested(URI, 1, explicit=True) is None
        with pytest.raises(Exception, match="is off"):
            await editor.edit(URI, 0, 3, "change it")
    assert (service.peer, editor.heard) == (None, [])


@pytest.mark.parametrize(
    ("options", "said"), [({"exlude": []}, "exlude"), ({"url": "http://x"}, "no WebSocket URL"), ("x", "object")]
)
async def test_settings_that_are_none_end_the_handshake_in_words(editing, options, said) -> None:
    """So nobody thinks that they hold."""
    async with editing("ws://127.0.0.1:1", handshake=False) as editor:
        with pytest.raises(Exception, match=said) as refused:
            await editor.initialize(options)
        assert (refused.value.number, refused.value.code) == (-32602, "invalid_settings")


# Without a service ------------------------------------------------------------------------------------------------


async def test_without_a_server_it_says_so_once(editing, no_url) -> None:
    """In words that say what to do; suggestions are none, and a command that needs it fails with the reason."""
    async with editing(no_url) as editor:
        editor.open(URI, TEXT)
        (said,) = await editor.hear("window/showMessage")
        assert "nothing listens there" in said["message"] and "warmline serve" in said["message"]
        for _ in range(3):
            assert await editor.suggested(URI, 14, explicit=True) is None
        with pytest.raises(Exception, match="nothing listens there") as refused:
            await editor.edit(URI, 0, 3, "change it")
        assert refused.value.code == "disconnected"
        status = await editor.command("warmline.status")
        assert (status["connected"], status["url"]) == (False, no_url)
        assert len(await editor.hear("window/showMessage")) == 1


async def test_a_key_that_is_missing_is_said_with_where_it_goes(editing, serve_script) -> None:
    """It is no matter of settings."""

    async def script(peer) -> None:
        await peer.next(Hello)
        await peer.send(Error(None, ErrorCode.UNAUTHORIZED, "a key is needed"))

    async with serve_script(script) as url, editing(url) as editor:
        (said,) = await editor.hear("window/showMessage")
        assert "WARMLINE_API_KEY" in said["message"] and said["type"] == 1


async def test_documents_are_handed_over_anew_when_the_server_comes_back(editing, service) -> None:
    """As they are by then, and without anybody asking for anything."""
    async with editing(service.url) as editor:
        await opened(editor, service)
        await service.peer.connection.close(1012, "drain")
        editor.type(URI, 14, 14, "y")
        again = await service.got(Open, 2)
        assert again.text == "def f(x):\n    y\n"
        asked = asyncio.ensure_future(editor.suggested(URI, 15))
        await service.completes(" = x")
        assert await asked == "def f(x):\n    y[ = x]\n"
        assert "window/showMessage" not in [method for method, _ in editor.heard]


# Completions ------------------------------------------------------------------------------------------------------


async def test_a_suggestion_lasts_while_what_it_says_is_typed(editing, service) -> None:
    """No request is made for it; one is made once something else is typed."""
    async with editing(service.url) as editor:
        await opened(editor, service)
        asked = asyncio.ensure_future(editor.suggested(URI, 14))
        request = await service.completes("return x\n")
        assert (request.sampling.max_tokens, request.parallel) == (64, False)
        assert await asked == "def f(x):\n    [return x]\n"
        editor.type(URI, 14, 14, "ret")
        assert await editor.suggested(URI, 17) == "def f(x):\n    ret[urn x]\n"
        assert len([message for message in service.messages if isinstance(message, Complete)]) == 1
        editor.type(URI, 17, 17, "X")
        asked = asyncio.ensure_future(editor.suggested(URI, 18))
        await service.completes(" = 1", 2)
        assert await asked == "def f(x):\n    retX[ = 1]\n"


async def test_a_cancelled_question_is_cancelled_on_the_server_at_once(editing, service) -> None:
    """And answered as LSP has it."""
    async with editing(service.url) as editor:
        await opened(editor, service)
        asked = editor.complete(URI, 14)
        request = await service.got(Complete)
        editor.cancel()
        assert (await service.got(Cancel)).request == request.request
        with pytest.raises(Exception, match="cancel") as cancelled:
            await asked
        assert cancelled.value.number == -32800


async def test_a_later_question_takes_the_place_of_an_earlier_one(editing, service) -> None:
    """The server ends that; its asker gets nothing, and the new one its suggestion."""
    async with editing(service.url) as editor:
        await opened(editor, service)
        first = asyncio.ensure_future(editor.suggested(URI, 14))
        request = await service.got(Complete)
        second = asyncio.ensure_future(editor.suggested(URI, 9))
        later = await service.got(Complete, 2)
        await service.peer.send(Done(request.request, "superseded"))
        assert await first is None
        await service.peer.send(Delta(later.request % 8, "  # f"), Done(later.request, "stop"))
        assert await second == "def f(x):[  # f]\n    \n"


async def test_what_was_typed_before_the_suggestion_came_makes_it_none(editing, service) -> None:
    """Where it was asked for is somewhere else now."""
    async with editing(service.url) as editor:
        await opened(editor, service)
        asked = asyncio.ensure_future(editor.suggested(URI, 14))
        await service.got(Complete)
        editor.type(URI, 0, 0, "# ")
        await service.got(Change)
        await service.completes("return x")
        assert await asked is None


async def test_a_suggestion_takes_the_place_of_brackets_that_the_editor_closed(editing, service) -> None:
    """Their range is in one line; in the midst of a line only that is completed."""
    async with editing(service.url) as editor:
        await opened(editor, service, "f\nx = g()\n")
        asked = asyncio.ensure_future(editor.suggested(URI, 1))
        await service.completes("(a, b)")
        assert await asked == "f[(a, b)]\nx = g()\n"
        editor.type(URI, 1, 1, "()")
        items = (await editor.complete(URI, 2))["items"]
        assert items == [
            {
                "insertText": "a, b)",
                "range": {"start": {"line": 0, "character": 2}, "end": {"line": 0, "character": 3}},
            }
        ]
        asked = asyncio.ensure_future(editor.suggested(URI, 10))
        assert (await service.completes("1, 2)\n", 2)).sampling.stop == ("\n",)
        assert await asked == "f()\nx = g([1, 2])\n"


async def test_unasked_nothing_comes_where_much_stands_to_the_right_or_the_language_is_off(editing, service) -> None:
    """By hand it does."""
    async with editing(service.url, {"completions": {"maxTokens": 7, "multiline": False}}) as editor:
        await opened(editor, service, "a = some_name(b)\n", language="plaintext")
        assert await editor.suggested(URI, 17) is None
        assert "plaintext" in (await editor.command("warmline.status"))["whyNothing"]
        editor.close(URI)
        editor.open(URI, "a = some_name(b)\n")
        assert await editor.suggested(URI, 4) is None
        assert "right" in (await editor.command("warmline.status"))["whyNothing"]
        asked = asyncio.ensure_future(editor.suggested(URI, 4, explicit=True))
        request = await service.completes("1 + ")
        assert (request.sampling.max_tokens, request.sampling.stop) == (7, ("\n",))
        assert await asked == "a = [1 + ]some_name(b)\n"


async def test_with_an_entry_chosen_in_the_list_a_suggestion_goes_on_with_that(editing, service) -> None:
    """Or there is none."""
    async with editing(service.url) as editor:
        buffer = await opened(editor, service, "pri\n")
        for text, inserted in (("print", "print(x)"), ("prior", None)):
            chosen = {"range": buffer.range(0, 3), "text": text}
            asked = editor.complete(URI, 3, selectedCompletionInfo=chosen)
            if inserted is not None:
                await service.completes("nt(x)")
            items = (await asked)["items"]
            assert [(item["insertText"], item["range"]) for item in items] == (
                [] if inserted is None else [(inserted, buffer.range(0, 3))]
            )


async def test_a_request_that_fails_leaves_nothing_but_the_reason(editing, service) -> None:
    """An editor that shows each error would show one per key."""
    async with editing(service.url) as editor:
        await opened(editor, service)
        asked = asyncio.ensure_future(editor.suggested(URI, 14))
        request = await service.got(Complete)
        await service.peer.send(Error(request.request, ErrorCode.ENGINE_UNAVAILABLE, "the engine starts"))
        assert await asked is None
        assert "the engine starts" in (await editor.command("warmline.status"))["whyNothing"]


# Edits ------------------------------------------------------------------------------------------------------------


async def test_an_edit_is_put_in_whole_for_the_version_it_is_of(editing, service) -> None:
    """Its range is whole lines; the answer says what was done."""
    async with editing(service.url) as editor:
        buffer = await opened(editor, service, "a = 1\nb = 2\nc = 3\n")
        edited = editor.edit(URI, 8, 9, "rename b")
        request = await service.edits([-1, "bee", 3, -1, 1])
        assert (request.start, request.end, request.instruction) == (6, 12, "rename b")
        answer = await edited
        assert buffer.text == "a = 1\nbee = \nc = 3\n"
        assert (answer["applied"], answer["reason"], answer["inserted"], answer["deleted"]) == (True, "stop", 3, 2)
        change = await service.got(Change)
        assert change.applied is None


async def test_typing_during_an_edit_moves_it(editing, service) -> None:
    """Also a key that the editor has and the server hears of only when its edit is refused for it."""
    async with editing(service.url) as editor:
        buffer = await opened(editor, service, "a = 1\n")
        edited = editor.edit(URI, 0, 6, "make it 2")
        await service.got(Edit)
        editor.type(URI, 0, 0, "# 😀\n")
        put_in, refusals = editor.applied, []

        def typed_just_then(params: object) -> object:
            editor.answers["workspace/applyEdit"] = put_in
            editor.type(URI, 0, 0, "# again\n")
            refusals.append(put_in(params))
            return refusals[-1]

        editor.answers["workspace/applyEdit"] = typed_just_then
        await service.edits([4, -1, "2", 1])
        assert (await edited)["applied"]
        assert buffer.text == "# again\n# 😀\na = 2\n"
        assert [refusal["applied"] for refusal in refusals] == [False]


@pytest.mark.parametrize("truly", [False, True])
async def test_an_editor_that_only_says_that_it_put_an_edit_in_is_asked_again(
    editing, service, monkeypatch, truly
) -> None:
    """Neovim says so of an edit whose version is past. One that was put in, in whatever form it is reported, is not
    put in twice.
    """
    monkeypatch.setattr(edits, "PATIENCE_SECONDS", 0.1)
    async with editing(service.url) as editor:
        buffer = await opened(editor, service, "a = 1\n")
        put_in = editor.applied

        def typed_just_then(params) -> object:
            editor.answers["workspace/applyEdit"] = put_in
            if truly:  # reported together with a key
                (change,) = params["edit"]["documentChanges"]
                buffer.edit(change["edits"])
                buffer.text = "#\n" + buffer.text
                editor.report(URI, [{"text": buffer.text}])
            else:
                editor.type(URI, 0, 0, "#\n")
            return {"applied": True}

        editor.answers["workspace/applyEdit"] = typed_just_then
        edited = editor.edit(URI, 0, 6, "make it 2")
        await service.edits([4, -1, "2", 1])
        assert (await edited)["applied"]
        assert buffer.text == "#\na = 2\n"


async def test_a_conflict_changes_nothing_and_is_said_in_words(editing, service) -> None:
    """What was typed stays."""
    async with editing(service.url) as editor:
        buffer = await opened(editor, service, "a = 1\n")
        edited = editor.edit(URI, 0, 6, "make it 2")
        await service.got(Edit)
        editor.type(URI, 4, 5, "3")
        await service.got(Change)
        await service.edits([4, -1, "2", 1])
        with pytest.raises(Exception, match="exclude each other, so nothing was changed") as refused:
            await edited
        assert (refused.value.code, refused.value.number) == ("conflict", -32803)
        assert buffer.text == "a = 3\n"


async def test_an_edit_that_the_editor_refuses_or_that_was_cut_is_no_success(editing, service) -> None:
    """The message has the editor's reason; half an edit is not put in."""
    async with editing(service.url) as editor:
        buffer = await opened(editor, service, "a = 1\n")
        editor.answers["workspace/applyEdit"] = lambda params: {"applied": False, "failureReason": "read-only"}
        edited = editor.edit(URI, 0, 6, "make it 2")
        await service.edits([4, -1, "2", 1])
        with pytest.raises(Exception, match="read-only") as refused:
            await edited
        assert refused.value.code == "not_applied"
        edited = editor.edit(URI, 0, 6, "make it 2")
        await service.edits([4, -1, "2"], "length", 2)
        with pytest.raises(Exception, match="cut off, so nothing was changed") as refused:
            await edited
        assert refused.value.code == "cut"
        edited = editor.edit(URI, 0, 6, "leave it")
        await service.edits([6], "stop", 3)
        assert (await edited)["applied"] is False
        assert buffer.text == "a = 1\n"


@pytest.mark.parametrize("answer", [{"applied": True}, None])
async def test_an_editor_that_says_so_and_changes_nothing_has_not_put_it_in(
    editing, service, monkeypatch, answer
) -> None:
    """Also where what the edit makes stands somewhere else already. It is offered once."""
    monkeypatch.setattr(edits, "PATIENCE_SECONDS", 0.1)
    async with editing(service.url) as editor:
        buffer = await opened(editor, service, "a = 1\n\na = 2\n")
        offered = []
        editor.answers["workspace/applyEdit"] = lambda params: offered.append(params) or answer
        edited = editor.edit(URI, 0, 6, "make it 2")
        await service.edits([4, -1, "2", 1])
        with pytest.raises(Exception, match="reported no change") as refused:
            await edited
        assert refused.value.code == "not_applied"
        assert (len(offered), buffer.text) == (1, "a = 1\n\na = 2\n")


async def test_an_edit_that_is_left_alone_for_a_key_is_offered_again_though_its_like_stands_elsewhere(
    editing, service, monkeypatch
) -> None:
    """What the text had before says nothing of whether it was put in."""
    monkeypatch.setattr(edits, "PATIENCE_SECONDS", 0.1)
    async with editing(service.url) as editor:
        buffer = await opened(editor, service, "a = 1\n\na = 2\n")
        put_in = editor.applied

        def typed_just_then(params) -> object:
            editor.answers["workspace/applyEdit"] = put_in
            editor.type(URI, 0, 0, "#\n")
            return {"applied": True}

        editor.answers["workspace/applyEdit"] = typed_just_then
        edited = editor.edit(URI, 0, 6, "make it 2")
        await service.edits([4, -1, "2", 1])
        assert (await edited)["applied"]
        assert buffer.text == "#\na = 2\n\na = 2\n"


async def test_an_editor_that_answers_an_edit_with_an_error_has_not_put_it_in(editing, service, lsp_editor) -> None:
    """The message has the error's."""
    async with editing(service.url) as editor:
        await opened(editor, service, "a = 1\n")
        failure = lsp_editor.Answered({"code": -32601, "message": "this editor can't"})
        editor.answers["workspace/applyEdit"] = lambda params: failure
        edited = editor.edit(URI, 0, 6, "make it 2")
        await service.edits([4, -1, "2", 1])
        with pytest.raises(Exception, match="this editor can't") as refused:
            await edited
        assert (refused.value.code, refused.value.number) == ("not_applied", -32803)


async def test_an_editor_that_answers_nothing_has_put_the_edit_in_if_the_text_says_so(editing, service) -> None:
    """Eglot's of some versions do."""
    async with editing(service.url) as editor:
        buffer = await opened(editor, service, "a = 1\n")
        put_in = editor.applied
        editor.answers["workspace/applyEdit"] = lambda params: put_in(params) and None
        edited = editor.edit(URI, 0, 6, "make it 2")
        await service.edits([4, -1, "2", 1])
        assert (await edited)["applied"]
        assert buffer.text == "a = 2\n"


async def test_editors_that_know_no_versions_of_edits_get_them_without(editing, service) -> None:
    """As LSP had it at first."""
    async with editing(service.url, workspace={"workspaceEdit": {}}) as editor:
        buffer = await opened(editor, service, "a = 1\n")
        got = []

        def put_in(params) -> object:
            got.append(params)
            editor.report(URI, buffer.edit(params["edit"]["changes"][URI]))
            return {"applied": True}

        editor.answers["workspace/applyEdit"] = put_in
        edited = editor.edit(URI, 0, 6, "make it 2")
        await service.edits([4, -1, "2", 1])
        assert (await edited)["applied"]
        span = {"start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 5}}
        assert got[0]["edit"] == {"changes": {URI: [{"range": span, "newText": "2"}]}}


async def test_an_edit_is_steered_and_interrupted_by_command(editing, service) -> None:
    """What it had made by then is put in."""
    async with editing(service.url) as editor:
        buffer = await opened(editor, service, "a = 1\nb = 2\n")
        edited = editor.edit(URI, 0, 12, "count from 5")
        request = await service.got(Edit)
        await service.peer.send(Ops(request.request % 8, [4, -1, "5", 1]))
        steered = editor.command("warmline.steer", {"uri": URI, "instruction": "and in hex"})
        steer = await service.got(Steer)
        assert (steer.request, steer.instruction) == (request.request, "and in hex")
        await service.peer.send(Steered(request.request, 4))
        await steered
        assert await editor.command("warmline.interrupt", {"uri": "file:///other"}) == 0
        assert await editor.command("warmline.cancel", {"uri": "file:///other"}) == 0
        assert await editor.command("warmline.interrupt") == 1
        await service.got(Interrupt)
        await service.peer.send(Done(request.request, "interrupted"))
        assert (await edited)["reason"] == "interrupted"
        assert buffer.text == "a = 5\nb = 2\n"
        assert await editor.command("warmline.cancel", None) == 0
        with pytest.raises(Exception, match="No edit runs") as refused:
            await editor.command("warmline.steer", {"instruction": "more"})
        assert refused.value.code == "unknown_request"


@pytest.mark.parametrize("way", ["request", "command", "progress"])
async def test_an_edit_is_cancelled_each_way_that_editors_have(editing, service, way) -> None:
    """On the server at once, and nothing is changed."""
    async with editing(service.url, window={"workDoneProgress": True}) as editor:
        buffer = await opened(editor, service, "a = 1\n")
        edited = editor.edit(URI, 0, 6, "make it 2")
        request = await service.got(Edit)
        (begun,) = await editor.hear("$/progress")
        assert (begun["value"]["kind"], begun["value"]["title"]) == ("begin", "Warmline: make it 2")
        if way == "request":
            editor.cancel()
        elif way == "command":
            assert await editor.command("warmline.cancel") == 1
        else:
            editor.notify("window/workDoneProgress/cancel", {"token": begun["token"]})
        assert (await service.got(Cancel)).request == request.request
        with pytest.raises(Exception, match="cancel") as cancelled:
            await edited
        assert cancelled.value.number == -32800
        assert buffer.text == "a = 1\n"
        assert (await editor.hear("$/progress", 2))[-1]["value"]["kind"] == "end"


async def test_progress_is_shown_under_the_editors_token_where_it_gave_one(editing, service) -> None:
    """From the beginning to the end, by how much of the range is done."""
    async with editing(service.url) as editor:
        await opened(editor, service, "a = 1\nb = 2\n")
        edited = editor.edit(URI, 0, 12, "change it", workDoneToken="mine")
        request = await service.got(Edit)
        await asyncio.sleep(0.15)
        await service.peer.send(Ops(request.request % 8, [6]))
        await editor.hear("$/progress", 2)
        await service.peer.send(Ops(request.request % 8, [6]), Done(request.request, "stop"))
        await edited
        shown = await editor.hear("$/progress", 3)
        assert {one["token"] for one in shown} == {"mine"}
        assert [one["value"]["kind"] for one in shown] == ["begin", "report", "end"]
        assert shown[1]["value"]["percentage"] == 50


async def test_without_progress_none_is_sent(editing, service) -> None:
    """To an editor that shows none."""
    async with editing(service.url) as editor:
        await opened(editor, service, "a = 1\n")
        edited = editor.edit(URI, 0, 6, "make it 2")
        await service.edits([4, -1, "2", 1])
        await edited
        assert "$/progress" not in [method for method, _ in editor.heard]


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        ([], "uri", "invalid_parameter"),
        ([{"uri": URI}], "range", "invalid_parameter"),
        ([{}, {}], "one argument", "invalid_parameter"),
        ([{"uri": "file:///b.py", "range": None, "instruction": "x"}], "range", "invalid_parameter"),
    ],
)
async def test_wrong_arguments_are_refused_in_words(editing, service, arguments, said, code) -> None:
    """They say what the command takes."""
    async with editing(service.url) as editor:
        await opened(editor, service)
        with pytest.raises(Exception, match=said) as refused:
            await editor.command("warmline.edit", *arguments)
        assert (refused.value.code, refused.value.number) == (code, -32602)


async def test_what_an_edit_can_not_be_about_is_refused_in_words(editing, service) -> None:
    """An unknown document or command, another version, an instruction that says nothing, a range turned round."""
    async with editing(service.url) as editor:
        await opened(editor, service)
        span = {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}
        turned = {"start": span["end"], "end": span["start"]}
        for given, code in (
            ({"uri": "file:///b.py", "range": span, "instruction": "x"}, "unknown_document"),
            ({"uri": URI, "range": span, "instruction": "x", "version": 7}, "stale_version"),
            ({"uri": URI, "range": span, "instruction": " "}, "invalid_parameter"),
            ({"uri": URI, "range": turned, "instruction": "x"}, "invalid_range"),
        ):
            with pytest.raises(Exception) as refused:
                await editor.command("warmline.edit", given)
            assert refused.value.code == code
        with pytest.raises(Exception, match="There is no command"):
            await editor.command("warmline.dance")


async def test_an_edit_whose_connection_breaks_changes_nothing(editing, service) -> None:
    """And says so."""
    async with editing(service.url) as editor:
        buffer = await opened(editor, service, "a = 1\n")
        edited = editor.edit(URI, 0, 6, "make it 2")
        await service.got(Edit)
        await service.peer.connection.close(1011)
        with pytest.raises(Exception, match="Nothing was changed") as refused:
            await edited
        assert refused.value.code == "disconnected"
        assert buffer.text == "a = 1\n"
