"""From a document and a place in it to the tokens a model is given."""
