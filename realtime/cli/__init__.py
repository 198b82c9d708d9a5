"""The `warmline` command."""
