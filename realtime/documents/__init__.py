"""A client's documents: text counted as the wire counts it, its changes, and its tokens."""
