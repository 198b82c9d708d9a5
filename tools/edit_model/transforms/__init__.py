"""Exact edits of real code, each with the instruction that asks for it."""
