"""Programs that make what Warmline ships. None of them is needed to run it."""
