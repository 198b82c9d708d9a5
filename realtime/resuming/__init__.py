"""Sessions that outlive their sockets: what of their results is kept, and where they wait."""
