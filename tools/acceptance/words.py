"""What the programs say to people who got something wrong."""

import os
import subprocess

from scenarios import scenario


@scenario
def a_hundred_mistakes_get_the_right_sentence(lab):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mistakes")
    done = subprocess.run([script], capture_output=True, text=True)
    assert done.returncode == 0, f"  {done.stdout}{done.stderr}"
    return done.stdout.splitlines()[-1]
