"""A redis-server of its own for one node."""

import os
import shutil
import subprocess
import tempfile
import time


class Redis:
    """A redis-server at a socket. `with` gives the options of a node on it."""

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="earshot-redis-")
        path, secret = os.path.join(self.folder, "socket"), os.path.join(self.folder, "secret")
        words = ["redis-server", "--port", "0", "--unixsocket", path, "--dir", self.folder]
        words += ["--save", "", "--appendonly", "no"]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        with open(secret, "w", encoding="ascii") as file:
            file.write("a-secret-of-all-nodes\n")
        os.chmod(secret, 0o600)
        end = time.monotonic() + 5
        while not os.path.exists(path):
            if time.monotonic() > end:
                self.__exit__()
                raise RuntimeError("redis-server does not start")
            time.sleep(0.05)
        return ["--redis", f"unix://{path}", "--cluster-secret", secret]

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
