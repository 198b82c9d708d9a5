"""The playground: a page that the gateway's listener serves at ``/``, made from `editor-plugin/src/playground`."""

from .playground import Answer, Playground, api_sources, committed

__all__ = ["Answer", "Playground", "api_sources", "committed"]
