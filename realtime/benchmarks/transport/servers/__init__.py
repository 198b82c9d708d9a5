"""The servers that are compared; each runs in a process of its own (`process`)."""
