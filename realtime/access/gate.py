"""What both listeners ask about whoever comes."""

from __future__ import annotations

from dataclasses import dataclass

from ..auth import Authenticator
from .accounts import Accounts
from .refusals import Refusals


@dataclass(frozen=True, slots=True)
class Gate:
    """Who is let in, how much each may use, and who was turned away."""

    auth: Authenticator
    accounts: Accounts
    refusals: Refusals
