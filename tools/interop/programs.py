"""The live programs on loopback: starting, reading what they print, ending."""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("EARSHOT_BIN", os.path.join(ROOT, ".build", "release"))


class Program:
    """One program that runs. What it prints is in the files `out` and `err`."""

    def __init__(self, label, folder, words, stdin=subprocess.DEVNULL):
        self.label, self.words = label, words
        self.out, self.err = (os.path.join(folder, label + end) for end in (".out", ".err"))
        environment = dict(
            os.environ, XDG_CONFIG_HOME=folder, XDG_DATA_HOME=folder, SWIFT_BACKTRACE="enable=no"
        )
        environment.pop("EARSHOT_RENDEZVOUS", None)
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen(
                words, stdin=stdin, stdout=out, stderr=err, env=environment
            )

    def raw(self):
        """Standard output so far."""
        with open(self.out, "rb") as file:
            return file.read()

    def errors(self):
        """Standard error so far."""
        with open(self.err, "rb") as file:
            return file.read()

    def lines(self):
        """Standard output so far as objects; a line that is none is {"type": "unparsable"}."""
        objects = []
        for line in self.raw().split(b"\n")[:-1]:
            try:
                objects.append(json.loads(line))
            except ValueError:
                objects.append({"type": "unparsable", "line": line})
        return objects

    def event(self, name, count=1):
        """The count-th event of a name, or None."""
        found = [x for x in self.lines() if x.get("type") == "event" and x.get("name") == name]
        return found[count - 1] if len(found) >= count else None

    def events(self, name):
        """How many events of a name there are."""
        return sum(x.get("type") == "event" and x.get("name") == name for x in self.lines())

    def summary(self):
        """The last summary, or {}."""
        found = [line for line in self.lines() if line.get("type") == "summary"]
        return found[-1] if found else {}

    @property
    def exit_code(self):
        """The exit status, or None while it runs."""
        return self.process.poll()

    def interrupt(self):
        """Sends SIGINT."""
        self.signal(signal.SIGINT)

    def signal(self, number):
        """Sends a signal, if the program still runs."""
        if self.process.poll() is None:
            self.process.send_signal(number)

    def end(self, seconds=3.0):
        """Ends the program: its exit status, or -9 if it had to be killed."""
        self.signal(signal.SIGCONT)
        self.interrupt()
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def processor_seconds(self):
        """What it has used of the processor."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_mib(self):
        """Its resident memory."""
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


class Programs:
    """A folder, a rendezvous and peers; all of it ends with the `with` block."""

    def __init__(self, *options, loop=None, host="127.0.0.1", serve=True):
        self.options, self.loop, self.host, self.serve = options, loop, host, serve
        self.running, self.count = [], 0

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="earshot-live-")
        try:
            if self.serve:
                self.start_rendezvous()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for program in reversed(self.running):
            program.end()
        if os.environ.get("EARSHOT_KEEP"):
            print(f"kept: {self.folder}")
        else:
            shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        """A file in the folder."""
        return os.path.join(self.folder, name)

    def start_rendezvous(self, *options, port=0, data="data"):
        """A rendezvous; `server` is where it listens and `server_id` its ID, as text."""
        port = port or free_port(self.host)
        words = [
            f"{BIN}/earshot-rendezvous",
            "--listen",
            f"{self.host}:{port}",
            "--data",
            self.path(data),
            "--json",
            *self.options,
            *options,
        ]
        self.rendezvous = self.start("rendezvous", words)
        if not self.wait(lambda: self.rendezvous.lines(), 10):
            raise RuntimeError(f"no rendezvous: {self.rendezvous.errors().decode()}")
        self.server, self.server_id = (self.host, port), self.rendezvous.lines()[0]["identity"]

    def start(self, label, words, stdin=subprocess.DEVNULL):
        """Any program."""
        self.count += 1
        program = Program(f"{label}-{self.count}", self.folder, words, stdin)
        self.running.append(program)
        return program

    def earshot(
        self,
        command,
        *words,
        identity,
        name=None,
        server=None,
        pin=False,
        bind=None,
        json_lines=True,
        stdin=subprocess.DEVNULL,
    ):
        """A peer that goes online."""
        host, port = server or self.server
        where = f"{host}:{port}" + (f"#{self.server_id}" if pin else "")
        options = [
            "--rendezvous",
            where,
            "--identity",
            self.path(identity),
            "--bind",
            f"{bind or self.host}:0",
        ] + (["--json"] if json_lines else [])
        options += ["--name", name] if name else []
        return self.start(command, [f"{BIN}/earshot", command, *words, *options], stdin)

    def answering(self, name, *words, seconds=10, **options):
        """`earshot answer --accept` that is registered."""
        program = self.earshot(
            "answer", *(words or ("--accept",)), identity=name, name=name, **options
        )
        if not self.wait(lambda: program.event("registered"), seconds):
            raise RuntimeError(f"{name} does not register: {program.errors().decode()}")
        return program

    def wait(self, condition, seconds):
        """Runs the loop, or waits, until the condition is true; says whether it came true."""
        if self.loop is not None:
            return self.loop.run(seconds, SlowCheck(condition))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                return True
            time.sleep(0.02)
        return bool(condition())


class SlowCheck:
    """A condition that is looked at every 20 ms only: reading files takes time."""

    def __init__(self, condition):
        self.condition, self.next_at = condition, 0.0

    def __call__(self):
        now = time.monotonic()
        if now < self.next_at:
            return False
        answer = self.condition()
        self.next_at = time.monotonic() + 0.02
        return bool(answer)


def free_port(host="127.0.0.1"):
    """A UDP port that nobody has."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.bind((host, 0))
        return udp.getsockname()[1]
