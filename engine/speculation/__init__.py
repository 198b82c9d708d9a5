"""Foresee a sequence's next tokens, and keep of them what the model agrees with."""
