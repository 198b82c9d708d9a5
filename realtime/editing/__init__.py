"""From a model's text to minimal operations over the original, while both it and the document change."""
