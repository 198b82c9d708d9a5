"""The connection: its handshake, its frames, and what a slow reader has not taken."""
