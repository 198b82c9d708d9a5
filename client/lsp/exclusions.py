"""Which documents may be sent: the rules of the VS Code extension (`editor-plugin/src/core/exclusions.ts`)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import unquote

from .globs import glob_pattern

DEFAULT_EXCLUSIONS: Final = (
    "**/.env",
    "**/.env.*",
    "**/.envrc",
    "**/*.env",
    "**/*.pem",
    "**/*.key",
    "**/*.p8",
    "**/*.p12",
    "**/*.pfx",
    "**/*.jks",
    "**/*.keystore",
    "**/*.kdbx",
    "**/*.ovpn",
    "**/*.tfvars",
    "**/*.tfstate",
    "**/id_{rsa,dsa,ecdsa,ed25519}{,*[!b],*[!u]b,*[!p]ub,*[!.]pub}",
    "**/{credentials,secrets}.{json,yaml,yml,toml,ini}",
    "**/service{-,_,}account*.json",
    "**/{.npmrc,.netrc,_netrc,.pypirc,.pgpass,.htpasswd,.git-credentials}",
    "**/{.vault_pass,.vault_pass.*,kubeconfig,.dockerconfigjson,.boto,.s3cfg}",
    "**/{.ssh,.aws,.gnupg,.kube,.docker}/**",
)
"""Files that tend to hold secrets."""

DEFAULT_SCHEMES: Final = ("file", "untitled", "vscode-remote", "vscode-notebook-cell")
"""Where people write what they may want completed: files, also remote ones, and what is not saved yet."""

_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)


def exclusion_reason(
    uri: str, globs: Sequence[str] = DEFAULT_EXCLUSIONS, schemes: Sequence[str] = DEFAULT_SCHEMES
) -> str | None:
    """Why a document may not be sent; None if it may."""
    found = _SCHEME.match(uri)
    scheme = "" if found is None else found[1].lower()
    if scheme not in schemes:
        return f'documents of the kind "{scheme}:" are never sent'
    path = uri_path(uri)
    glob = next((glob for glob in globs if glob_pattern(glob).fullmatch(path)), None)
    return None if glob is None else f"files that match {glob} are never sent"


def uri_path(uri: str) -> str:
    """The path of a URI, without authority, query and fragment, as people write it."""
    rest = _SCHEME.sub("", uri, count=1)
    rest = re.sub(r"^//[^/?#]*", "", rest)
    return unquote(re.sub(r"[?#].*$", "", rest, flags=re.DOTALL)).replace("\\", "/")


def language_enabled(languages: Mapping[str, bool], language: str) -> bool:
    """Whether a language is on: by its own entry, or by that of ``*``, or else yes."""
    return languages.get(language, languages.get("*", True))
