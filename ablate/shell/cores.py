"""How many cores this process may use: of the machine, of its affinity, of a container's quota."""

import math
import os
import sys
from pathlib import Path


def usable_cores() -> int:
    """Cores that this process may use, 1 or more."""
    own = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return min(own, quota() or own)


def quota(root: Path = Path("/")) -> int | None:
    """Cores that the control groups of this process leave it, rounded up; None without a limit.

    A limit of a group above it holds as well (cgroup v2: cpu.max; v1: cpu.cfs_quota_us).
    """
    try:
        groups = (root / "proc/self/cgroup").read_text().splitlines()
    except (OSError, ValueError):
        return None
    shares = []
    for line in groups:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            home = root / "sys/fs/cgroup"
        elif "cpu" in controllers.split(","):
            home = root / "sys/fs/cgroup" / controllers
        else:
            continue
        # In a container the path may be one that only its host sees; then its own root counts.
        for group in (home / path.strip("/"), *(home / path.strip("/")).parents):
            shares += [share] if (share := cores_of(group)) else []
            if group == home:
                break
    return max(1, math.ceil(min(shares))) if shares else None


def cores_of(group: Path) -> float | None:
    """The limit of one control group, in cores."""
    for names in (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")):
        try:
            words = " ".join((group / name).read_text() for name in names).split()
            limit, period = int(words[0]), int(words[1])
        except (OSError, ValueError, IndexError):  # no such file, or "max"
            continue
        if limit > 0 and period > 0:
            return limit / period
    return None
