"""The completions that a new one may go on with, and what of them was typed when it was asked for."""

from __future__ import annotations

from collections.abc import Iterable

from warmline.realtime import PlaceTracker


class Earlier:
    """Remembers what a completion needs to go on with another one, until the server says with which.

    One of those may itself be waiting to hear which one it goes on with, and will then have the place of that. So
    what was typed is remembered for all the places that any of them has or may get. Those that such a place could in
    turn have come from need no following: who waits runs, and so is one of them.
    """

    def __init__(self, running: Iterable[tuple[int, PlaceTracker, Earlier | None]], cursor: int) -> None:
        """``running`` are completions of the document: the request, its place, and its own earlier ones."""
        self._places: dict[int, PlaceTracker] = {}
        candidates: dict[int, PlaceTracker] = {}  # by request, as most are those of many others, too
        for request, place, earlier in running:
            self._places[request] = place
            if earlier is not None:
                candidates.update(earlier._places)
        candidates.update(self._places)
        origins = {place.origin: place for place in candidates.values()}  # of one origin all have the same typed
        at = {origin: place.at(cursor) for origin, place in origins.items()}
        self._typed = {origin: typed.text for origin, typed in at.items() if typed is not None}

    def hand_over(self, request: int, place: PlaceTracker) -> bool:
        """Let a place go on from that of an earlier request. Returns whether it can."""
        before = self._places.get(request)
        if before is None or before.origin not in self._typed:
            return False
        place.go_on_from(before, self._typed[before.origin])
        return True
