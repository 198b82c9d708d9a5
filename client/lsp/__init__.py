"""A language server over the SDK, for editors that speak LSP: `run_language_server` is `warmline lsp`.

Nothing of it is imported before it runs: what it needs (pygls) is in the extra ``warmline[lsp]``.
"""

from __future__ import annotations


def run_language_server(url: str, *, token: str | None = None, log_level: str = "warning") -> int:
    """Speak LSP on standard input and output until the editor ends it; returns the exit code.

    It is 0 if the editor said ``shutdown`` before, and 1 if it just went, as LSP has it. Logs go to standard error.

    Args:
        url: the service, unless the editor names another in its ``initializationOptions``.
        token: the API key, if the service wants one.
        log_level: what is logged: ``debug``, ``info``, ``warning`` or ``error``.

    Raises:
        ModuleNotFoundError: pygls is not installed.

    """
    from .stdio import run

    return run(url, token, log_level)


__all__ = ["run_language_server"]
