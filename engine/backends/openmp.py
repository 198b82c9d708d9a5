"""How torch's OpenMP threads wait for each other. To be imported before torch, which reads this when it loads.

A pass is some two hundred short parallel regions. By default a thread that has to wait for another spins for
milliseconds; where the cores are shared (with the gateway, an editor, a compiler), it spins on the core that the
other one needs, and a pass takes ten times as long. So waiting threads sleep, unless the user has said otherwise.
"""

import os

if "GOMP_SPINCOUNT" not in os.environ:
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
