"""What becomes of a completion while the person types on."""
