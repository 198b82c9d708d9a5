"""Choosing the next token: a function of the row of logits, the parameters and (seed, position) alone.

What happens to a row, in this order (vLLM's):

1. **Logprobs** are of the row as the model gave it.
2. **Logit bias** is added.
3. **Penalties**, for the tokens before this one: the repetition penalty (prompt and output), then the frequency and
   the presence penalty (output alone).
4. Temperature 0 takes the largest logit, the lowest id among equals. Otherwise **temperature** divides, then come
   **min-p**, **top-k** and **top-p**, each on what the one before left, and the **draw**.

Nothing sorts the vocabulary. Probabilities are relative to the largest, in whole units of 2**-34: their sums are
exact in any order, so that the result is that of sorting everything. NaN counts as minus infinity.
"""

from __future__ import annotations

from .adjustments import Adjustments
from .choice import sample, uniform_bits
from .filters import Logits
from .logprobs import token_logprobs

__all__ = ["Adjustments", "Logits", "sample", "token_logprobs", "uniform_bits"]
