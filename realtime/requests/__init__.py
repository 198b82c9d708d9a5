"""Requests while they run: what they ask of the engine, and what they send."""
