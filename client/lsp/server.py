"""The language server: what an editor may ask, and who answers it."""

from __future__ import annotations

import importlib.metadata
import logging
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from lsprotocol import types
from pygls.exceptions import FeatureRequestError, JsonRpcException, JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.protocol import lsp_method

from ..errors import InvalidArgument, Unauthorized, WarmlineError
from ..handshake import connect
from ..operations import Replacement
from ..session import Session
from .completions import InlineCompletions, Selected
from .documents import Documents, OpenDocument
from .edits import Answer, Edits
from .failures import HOW_TO_SET_A_KEY, CommandFailure
from .link import Link
from .messages import StrictProtocol
from .progress import WorkDone
from .settings import Settings, parse_settings
from .text import Encoding

COMMANDS: Final = ("warmline.edit", "warmline.steer", "warmline.interrupt", "warmline.cancel", "warmline.status")
"""What `workspace/executeCommand` takes."""

_ENCODINGS: Final[dict[str, Encoding]] = {"utf-8": "utf-8", "utf-16": "utf-16", "utf-32": "utf-32"}

_log = logging.getLogger(__name__)


class _Protocol(StrictProtocol):
    """The library's, but for what it does by itself that would be done twice, or not as it should.

    It keeps documents whose lines end at each form feed, too; here `Documents` keeps them. And it lets a command that
    was cancelled run on.
    """

    _server: WarmlineServer

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        self._server.opened(params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        self._server.changed(params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        self._server.closed(params)

    def get_result_type(self, method: str) -> type[Any] | None:  # type: ignore[override]  # there it is cached
        """Some editors answer an edit with nothing: that has no type, and would be no answer at all."""
        return None if method == types.WORKSPACE_APPLY_EDIT else super().get_result_type(method)

    @lsp_method(types.WORKSPACE_EXECUTE_COMMAND)
    async def lsp_workspace__execute_command(  # type: ignore[override]
        self, params: types.ExecuteCommandParams
    ) -> object:
        return await self._server.command_asked(params)


class WarmlineServer(LanguageServer):
    """One editor, its documents, and one session with the service.

    Args:
        url: the service, unless the editor names another.
        token: the API key.

    Attributes:
        protocol: takes messages, and knows whether the editor has said ``shutdown`` and ``exit``.
    """

    protocol: _Protocol

    def __init__(self, url: str, token: str | None) -> None:
        super().__init__("warmline", importlib.metadata.version("warmline"), protocol_cls=_Protocol)
        self._url = url
        self._token = token
        self._encoding: Encoding = "utf-16"
        self._take(Settings())
        self._register()

    def _take(self, settings: Settings) -> None:
        self._settings = settings
        self._link = Link(self._connect, self)
        self._documents = Documents(settings)
        self._completions = InlineCompletions(settings.completions, self._link, self._documents)
        self._edits = Edits(self._link, self._documents, self._apply)

    def _register(self) -> None:
        """Say what there is: the library announces it."""

        @self.feature(types.INITIALIZE)
        def initialize(params: types.InitializeParams) -> None:
            self._initialize(params)

        @self.feature(types.INITIALIZED)
        def initialized(params: types.InitializedParams) -> None:
            if self._settings.enabled:
                self._link.start()

        @self.feature(types.SHUTDOWN)
        async def shutdown(params: None) -> None:
            await self._documents.end()
            await self._link.close()

        @self.feature(types.TEXT_DOCUMENT_INLINE_COMPLETION, types.InlineCompletionOptions())
        async def inline_completion(params: types.InlineCompletionParams) -> types.InlineCompletionList:
            return types.InlineCompletionList(await self._inline_completions(params))

        @self.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
        def configuration_changed(params: types.DidChangeConfigurationParams) -> None:
            """What is set is set at the start."""

        for name in COMMANDS:

            @self.command(name)
            def announced() -> None:
                """`_Protocol` carries it out."""

    def _initialize(self, params: types.InitializeParams) -> None:
        try:
            settings = parse_settings(params.initialization_options)
            self._url = settings.url or self._url
            self._connection()
        except InvalidArgument as error:
            raise JsonRpcInvalidParams(str(error), data={"code": "invalid_settings"}) from None
        chosen = self.workspace.position_encoding
        self._encoding = _ENCODINGS[str(getattr(chosen, "value", chosen))]
        self._take(settings)
        self.protocol.initialized = True

    # The service ------------------------------------------------------------------------------------------------

    def _connection(self) -> connect:
        return connect(self._url, token=self._token, client="warmline-lsp", reconnect=False)

    async def _connect(self) -> Session:
        return await self._connection()

    def connected(self, session: Session) -> None:
        """There is a session."""
        said = f"connected to {session.url}: {session.model}"
        self.window_log_message(types.LogMessageParams(types.MessageType.Info, said))
        self._documents.connected(session)

    def unreachable(self, error: WarmlineError) -> None:
        """There is none: say so once."""
        refused = isinstance(error, Unauthorized)
        hint = (
            HOW_TO_SET_A_KEY
            if refused
            else "It is tried again quietly; `url` in initializationOptions is another place."
        )
        kind = types.MessageType.Error if refused else types.MessageType.Warning
        self.window_show_message(types.ShowMessageParams(kind, f"Warmline: {str(error).rstrip('.')}. {hint}"))

    # Documents --------------------------------------------------------------------------------------------------

    def opened(self, params: types.DidOpenTextDocumentParams) -> None:
        """A document was opened."""
        item = params.text_document
        document = OpenDocument(item.uri, item.language_id, item.version, item.text, self._encoding)
        self._documents.open(document)

    def changed(self, params: types.DidChangeTextDocumentParams) -> None:
        """A document was changed, in one or more places, each counted in the result of the one before."""
        document = self._documents.get(params.text_document.uri)
        if document is None:
            _log.warning("a document was changed that is not open")
            return
        for change in params.content_changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                document.change(*self._indices(document, change.range), change.text)
            else:
                document.replace_all(change.text)
        document.version = params.text_document.version
        self._documents.sync_soon(document)

    def closed(self, params: types.DidCloseTextDocumentParams) -> None:
        """A document was closed."""
        self._documents.close(params.text_document.uri)

    # Completions ------------------------------------------------------------------------------------------------

    async def _inline_completions(self, params: types.InlineCompletionParams) -> list[types.InlineCompletionItem]:
        document = self._documents.get(params.text_document.uri)
        if document is None or not self._settings.enabled:
            return []
        chosen = params.context.selected_completion_info
        selected = None if chosen is None else Selected(*self._indices(document, chosen.range), chosen.text)
        rest = await self._completions.suggest(
            document,
            document.lines.index(params.position.line, params.position.character),
            explicit=params.context.trigger_kind == types.InlineCompletionTriggerKind.Invoked,
            selected=selected,
        )
        if rest is None:
            return []
        return [types.InlineCompletionItem(insert_text=rest.text, range=_range(document, rest))]

    # Commands ---------------------------------------------------------------------------------------------------

    async def command_asked(self, params: types.ExecuteCommandParams) -> object:
        """Carry out a command.

        Raises:
            CommandFailure: it can't be; the message says why.

        """
        if not self._settings.enabled:
            raise CommandFailure("disabled", "Warmline is off: `enabled` in initializationOptions says so.")
        match params.command:
            case "warmline.edit":

                def progress(title: str, cancel: Callable[[], None]) -> WorkDone:
                    return WorkDone(self, params.work_done_token, title, cancel)

                return msgspec.to_builtins(await self._edits.edit(params.arguments, progress))
            case "warmline.steer":
                await self._edits.steer(params.arguments)
                return None
            case "warmline.interrupt":
                return self._edits.interrupt(params.arguments)
            case "warmline.cancel":
                return self._edits.cancel(params.arguments)
            case "warmline.status":
                return self._status()
            case _:
                there = ", ".join(COMMANDS)
                raise CommandFailure("unknown_command", f"There is no command {params.command}; there are {there}.")

    def _status(self) -> dict[str, object]:
        session = self._link.session
        return {
            "connected": session is not None,
            "url": self._url,
            "model": None if session is None else session.model,
            "error": None if self._link.error is None else str(self._link.error),
            "whyNothing": self._completions.why,
        }

    async def _apply(self, document: OpenDocument, replacements: Sequence[Replacement]) -> Answer:
        edits = [types.TextEdit(_range(document, one), one.text) for one in replacements]
        workspace = self.client_capabilities.workspace
        known = None if workspace is None else workspace.workspace_edit
        if known is not None and known.document_changes:
            named = types.OptionalVersionedTextDocumentIdentifier(uri=document.uri, version=document.version)
            edit = types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(named, edits)])
        else:
            edit = types.WorkspaceEdit(changes={document.uri: edits})
        params = types.ApplyWorkspaceEditParams(edit, label="Warmline")
        try:
            answer = await self.protocol.send_request_async(types.WORKSPACE_APPLY_EDIT, params)
        except JsonRpcException as error:  # the editor's
            return Answer(False, error.message)
        why = getattr(answer, "failureReason", None) or "it gave no reason"
        return Answer(bool(getattr(answer, "applied", True)), why)

    # ------------------------------------------------------------------------------------------------------------

    def report_server_error(self, error: Exception, source: object) -> None:
        """Log what was wrong with a message, without anything of what it said."""
        if source is not FeatureRequestError:  # whose sender is answered
            _log.error("a message could not be handled: %s", type(error).__name__)

    def _indices(self, document: OpenDocument, given: types.Range) -> tuple[int, int]:
        start = document.lines.index(given.start.line, given.start.character)
        return start, max(document.lines.index(given.end.line, given.end.character), start)


def _range(document: OpenDocument, replacement: Replacement) -> types.Range:
    """Where a replacement goes, as LSP says it."""
    start, end = (types.Position(*document.lines.position(at)) for at in (replacement.start, replacement.end))
    return types.Range(start, end)
