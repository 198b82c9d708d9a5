"""Warmline's gateway. Importing this package brings the wire only, so that the SDK stays light.

The service itself is in `warmline.realtime.server`.
"""

from .protocol import JSON, MSGPACK, SUBPROTOCOLS, ErrorCode, ProtocolError, client_codec, server_codec

__all__ = ["JSON", "MSGPACK", "SUBPROTOCOLS", "ErrorCode", "ProtocolError", "client_codec", "server_codec"]
