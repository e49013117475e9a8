"""What the system knows about a running process."""

import os
import time


def cpu(pid):
    """Milliseconds of processor time so far, all threads, without children."""
    # The clock id that clock_getcpuclockid(3) returns for another process.
    return time.clock_gettime((~pid << 3) | 2) * 1e3


def memory(pid):
    """MiB: `Rss`, `Pss`, `Anonymous`, and `Private_Dirty`, the nearest to a heap from outside."""
    found = {}
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii", errors="replace") as rows:
        for row in rows:
            words = row.split()
            if len(words) == 3 and words[2] == "kB":
                found[words[0].rstrip(":")] = int(words[1]) / 1024
    return found


def peak(pid):
    """The most resident memory so far, in MiB."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
        return next(int(row.split()[1]) / 1024 for row in status if row.startswith("VmHWM:"))


def threads(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def spawned(pid):
    """Whether the process has or had children: living ones, or faults and time of dead ones."""
    living = []
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as children:
                living += children.read().split()
        except OSError:
            pass
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    # Fields 11, 13, 16 and 17 of proc(5), counted from 3 here: of waited-for children.
    dead = any(int(fields[at]) for at in (8, 10, 13, 14))
    return bool(living) or dead
