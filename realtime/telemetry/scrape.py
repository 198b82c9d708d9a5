"""Read /metrics of a service that runs somewhere, as Prometheus does."""

from __future__ import annotations

import urllib.error
import urllib.request
from http.client import HTTPException
from typing import Final
from urllib.parse import urlsplit

_TIMEOUT: Final = 10.0
_UNAUTHORISED: Final = (401, 403)


class Unreadable(Exception):
    """/metrics can't be read; the message says why and what to do."""


class MetricsPage:
    """/metrics of the service at a WebSocket URL.

    Attributes:
        url: where that is.
    """

    def __init__(self, url: str, api_key: str | None) -> None:
        parts = urlsplit(url)
        self.url = f"{'https' if parts.scheme in ('wss', 'https') else 'http'}://{parts.netloc}/metrics"
        self._headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}

    def read(self) -> bytes:
        """The page. Blocks, ten seconds at most.

        Raises:
            Unreadable: there is none, or not for us.

        """
        request = urllib.request.Request(self.url, headers=self._headers)
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
                page: bytes = answer.read()
        except urllib.error.HTTPError as error:
            error.close()
            advice = ": give its API key with --api-key" if error.code in _UNAUTHORISED else ""
            raise Unreadable(f"{self.url} answers {error.code} {error.reason}{advice}") from None
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise Unreadable(f"{self.url} can't be read: {reason}; is the service running there?") from None
        return page
