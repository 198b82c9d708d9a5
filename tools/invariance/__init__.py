"""Losslessness put to the test: random requests in random company give the same bits as each one alone."""
