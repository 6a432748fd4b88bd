"""The library for C: what it gives, and a call between two programs in C."""

import os
import shutil
import subprocess

from lab import ROOT
from scenarios import equal, scenario


@scenario
def programs_in_C_call_each_other(lab):
    if shutil.which("cc") is None or shutil.which("c++") is None:
        return "skipped: no C compiler"
    made = subprocess.run(
        [os.path.join(ROOT, "tools", "library"), "--check"],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    last = made.stdout.strip().splitlines()[-1] if made.stdout.strip() else made.stderr[-300:]
    equal(made.returncode, 0, "the library's check: " + made.stdout[-1500:])
    equal(last.endswith(" passed, 0 failed"), True, "the last line: " + last)
    size = os.path.getsize(os.path.join(ROOT, "out", "library", "libearshot.so"))
    return f"{last}, {size / 1e6:.1f} MB"
