"""The usage ledger: what each API key had computed, and what the cache saved it."""
