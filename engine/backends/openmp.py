"""How torch's OpenMP threads wait for each other. To be imported before torch, which reads this when it loads.

A pass is some two hundred short parallel regions. By default a thread that has to wait for another spins for
milliseconds; where the cores are shared (with the gateway, an editor, a compiler), it spins on the core that the
other one needs. Sleeping at once costs a wake-up a region. So threads spin briefly, then sleep, unless the user has
said otherwise; docs/benchmarks.md has the figures.
"""

import os

if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
