"""A short text of the kind the model will read, to find the ranges of its activations with."""

from typing import Final

CALIBRATION_TOKENS: Final = 256
"""How many of its tokens are used at most."""
CALIBRATION_TEXT: Final = '''<|im_start|>user
Rename the variable and handle an empty list.<|im_end|>
<|im_start|>assistant
```python
"""Totals of an order."""

from dataclasses import dataclass, field


@dataclass
class Order:
    customer: str
    prices: list[float] = field(default_factory=list)
    paid: bool = False

    def total(self, discount=0.0):
        if not self.prices:
            return 0.0
        amount = sum(price for price in self.prices if price > 0)
        return round(amount * (1 - discount), 2)


def load(path, encoding="utf-8"):
    orders = {}
    with open(path, encoding=encoding) as file:
        for number, line in enumerate(file, start=1):
            name, _, rest = line.strip().partition(":")
            try:
                orders[name] = [float(part) for part in rest.split(",")]
            except ValueError as error:
                raise SystemExit(f"{path}:{number}: {error}") from None
    return orders
```
```javascript
export async function fetchUsers(url, { retries = 3 } = {}) {
  // Try again when the server is busy.
  for (let i = 0; i < retries; i++) {
    const response = await fetch(`${url}/users?page=${i}`);
    if (response.status === 200) return (await response.json()).items;
  }
  throw new Error("no answer from " + url);
}
```
'''
