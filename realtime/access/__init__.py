"""Who may use the service and how much of it: API keys and their file, limits, what is used now, TLS."""
