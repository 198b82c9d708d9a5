"""`warmline eval`: how well a model makes edits and completions, measured on records with known answers."""
