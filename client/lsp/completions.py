"""`textDocument/inlineCompletion`: the text that belongs at the cursor."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

from ..document import Document
from ..errors import Conflict, WarmlineError
from ..operations import Replacement
from ..parameters import Parameters
from ..results import CompletionResult
from ..session import Session
from .documents import Documents, OpenDocument
from .exclusions import language_enabled
from .link import Link
from .presentation import first_line, presentable
from .settings import CompletionSettings

MOST_RIGHT: Final = 8
"""Characters to the right of the cursor above which nothing is suggested unasked."""

WINDOW: Final = 20_000
"""Characters before and behind the cursor in which brackets and repetitions are looked for."""

_WHOLE: Final = ("stop", "length")
"""Why a completion ends whose text can be offered again; where it was cut has no meaning."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Selected:
    """The entry that is chosen in an editor's list of completions, and what it replaces."""

    start: int
    end: int
    text: str


class _Nothing(Exception):
    """Why there is nothing to suggest."""


class InlineCompletions:
    """Makes a request of the server for each question, unless what the last one said is still being typed.

    Attributes:
        why: why nothing was suggested when it was asked for last; empty if something was.
    """

    def __init__(self, settings: CompletionSettings, link: Link, documents: Documents) -> None:
        self.why = "nothing was asked for yet"
        self._settings = settings
        self._link = link
        self._documents = documents
        self._last: MutableMapping[OpenDocument, CompletionResult] = WeakKeyDictionary()

    async def suggest(
        self, document: OpenDocument, index: int, *, explicit: bool, selected: Selected | None = None
    ) -> Replacement | None:
        """What to put in at a place of a document; None, and `why`, if there is nothing.

        A cancellation reaches the server at once, and so does a later question about the document, which takes this
        one's place.

        Args:
            document: where.
            index: the cursor.
            explicit: somebody asked for it: then it comes also where it doesn't by itself.
            selected: what the suggestion has to go on with.

        """
        try:
            replacement = await self._suggestion(document, index, explicit, selected)
        except (_Nothing, WarmlineError) as error:
            self.why = str(error)
            _log.debug("nothing suggested: %s", error)
            return None
        self.why = ""
        return replacement

    async def _suggestion(
        self, document: OpenDocument, index: int, explicit: bool, selected: Selected | None
    ) -> Replacement:
        edition = document.edition
        text = document.lines.text
        right = text[index : document.lines.line(index)[1]].strip()
        if not explicit and not language_enabled(self._settings.languages, document.language):
            raise _Nothing(f"suggestions are off for {document.language}")
        if not explicit and len(right) > MOST_RIGHT:
            raise _Nothing("there is too much text to the right of the cursor")
        session = await self._link.wanted() if explicit else self._link.session
        if session is None:
            raise _Nothing(f"there is no connection to the server: {self._link.error or 'not yet'}")
        copy = await self._documents.on_server(document, session)
        if document.edition != edition:
            raise _Nothing("something was typed before the question was asked")
        one_line = bool(right) or not self._settings.multiline
        rest = self._rest(document, copy, index)
        if rest is None:
            result = await self._asked(session, copy, index, one_line)
            self._last[document] = result
            if document.edition != edition:
                raise _Nothing("something was typed before the suggestion was there")
            rest = self._rest(document, copy, index)
        if rest is None:
            raise _Nothing("the model suggests nothing here")
        return _presented(document, rest, index, one_line, selected)

    async def _asked(self, session: Session, copy: Document, index: int, one_line: bool) -> CompletionResult:
        """What the model says. Cancelled, it ends the request on the server at once."""
        parameters: Parameters = {"max_tokens": self._settings.max_tokens}
        if one_line:
            parameters["stop"] = ["\n"]
        async with session.complete(copy, index, **parameters) as completion:
            result = await completion.result()
        if result.reason not in _WHOLE:
            raise _Nothing(f"it was given up ({result.reason})")
        return result

    def _rest(self, document: OpenDocument, copy: Document, index: int) -> Replacement | None:
        """What is left of the last completion, if it goes on exactly at a place."""
        result = self._last.get(document)
        if result is None or result.document is not copy:
            return None
        try:
            replacements = copy.replacements(result)
        except Conflict:
            del self._last[document]
            return None
        return next((rest for rest in replacements if rest.start == index and rest.text), None)


def _presented(
    document: OpenDocument, rest: Replacement, index: int, one_line: bool, selected: Selected | None
) -> Replacement:
    """What of a suggestion can be shown at the cursor."""
    text = document.lines.text
    start, end, suggestion = index, rest.end, rest.text
    if end > document.lines.line(index)[1]:  # a range has to be in one line: brackets closed on a later one stay
        closers = text[index:end].strip()
        suggestion = suggestion.rstrip()
        if not suggestion.endswith(closers):
            raise _Nothing("it does not close the brackets that the editor has put behind the cursor")
        end, suggestion = index, suggestion.removesuffix(closers).rstrip()
    if one_line:
        suggestion = first_line(suggestion)
    suggestion = presentable(suggestion, text[max(index - WINDOW, 0) : index], text[end : end + WINDOW])
    if not suggestion:
        raise _Nothing("it only repeats what follows, or closes what is not open")
    if selected is not None:
        suggestion = text[selected.start : index] + suggestion
        if selected.start > index or not suggestion.startswith(selected.text):
            raise _Nothing("the chosen entry of the list is not what the model suggests")
        start, end = selected.start, max(end, selected.end)
    return Replacement(start, end, suggestion)
