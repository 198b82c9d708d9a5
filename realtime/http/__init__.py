"""The second listener: an API like OpenAI's, over HTTP and server-sent events, for clients of other makers."""

from .door import HttpDoor

__all__ = ["HttpDoor"]
