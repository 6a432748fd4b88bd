"""Three hosts on one machine: network namespaces a, b and r on a bridge, and programs in them."""

import json
import os
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("EARSHOT_BIN", os.path.join(ROOT, ".build", "release"))
ADDRESS = {"a": "10.77.0.1", "b": "10.77.0.2", "r": "10.77.0.3"}
PORT = 7400


def sh(*words, check=True):
    return subprocess.run(words, check=check, capture_output=True, text=True)


def whole_lines(path):
    """The lines of a file that somebody writes to: without the last one while it has no end."""
    with open(path, errors="replace") as file:
        return file.read().split("\n")[:-1]


class Lab:
    """Namespaces named after this process, so that several labs run side by side."""

    def __init__(self):
        self.prefix = f"es{os.getpid()}"
        self.folder = tempfile.mkdtemp(prefix="earshot-acceptance-")
        self.programs = []
        #: How long a scenario that can be long takes (`--seconds`); 0: as long as it takes by itself.
        self.seconds = int(os.environ.get("EARSHOT_SECONDS", "0"))
        #: Further ones that a scenario has made.
        self.namespaces = []

    def ns(self, host):
        return f"{self.prefix}{host}"

    def __enter__(self):
        switch = self.ns("s")
        sh("ip", "netns", "add", switch)
        sh("ip", "-n", switch, "link", "add", "br0", "type", "bridge")
        sh("ip", "-n", switch, "link", "set", "br0", "up")
        for host, address in ADDRESS.items():
            ns = self.ns(host)
            sh("ip", "netns", "add", ns)
            sh(
                "ip",
                "-n",
                switch,
                "link",
                "add",
                f"p{host}",
                "type",
                "veth",
                "peer",
                "name",
                "eth0",
                "netns",
                ns,
            )
            sh("ip", "-n", switch, "link", "set", f"p{host}", "master", "br0", "up")
            sh("ip", "-n", ns, "addr", "add", f"{address}/24", "dev", "eth0")
            sh("ip", "-n", ns, "link", "set", "eth0", "up")
            sh("ip", "-n", ns, "link", "set", "lo", "up")
        return self

    def __exit__(self, *_):
        for program in self.programs:
            program.kill()
        for namespace in [self.ns(host) for host in "abrs"] + self.namespaces:
            sh("ip", "netns", "del", namespace, check=False)
        if not os.environ.get("EARSHOT_KEEP"):
            sh("rm", "-rf", self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, host, *words, name=None, stdin=subprocess.DEVNULL):
        program = Program(self, host, words, name or f"{host}{len(self.programs)}", stdin)
        self.programs.append(program)
        return program

    def rendezvous(self, data="data", port=PORT, options=(), variables=()):
        program = self.run(
            "r",
            *(("env", *variables) if variables else ()),
            f"{BIN}/earshot-rendezvous",
            "--listen",
            f"{ADDRESS['r']}:{port}",
            "--data",
            self.path(data),
            "--json",
            *options,
            name=f"rendezvous{len(self.programs)}",
        )
        # On a Redis that has just started it waits for 5 s.
        program.wait_line(lambda line: line.get("type") == "listening", 10)
        return program

    def peer(self, host, command, *words, identity=None, rendezvous=None, name=None):
        identity = identity or name or host
        options = [
            "--rendezvous",
            rendezvous or f"{ADDRESS['r']}:{PORT}",
            "--json",
            "--identity",
            self.path(f"identity-{identity}"),
        ]
        if name:
            options += ["--name", name]
        return self.run(
            host,
            f"{BIN}/earshot",
            command,
            *words,
            *options,
            name=f"{command}-{host}{len(self.programs)}",
        )


class Program:
    def __init__(self, lab, host, words, label, stdin=subprocess.DEVNULL):
        self.label, self.words = label, words
        self.out = open(lab.path(label + ".out"), "wb+")
        self.err = open(lab.path(label + ".err"), "wb+")
        environment = dict(
            os.environ,
            XDG_CONFIG_HOME=lab.path("config-" + host),
            XDG_DATA_HOME=lab.path("share-" + host),
            SWIFT_BACKTRACE="enable=no",
        )
        environment.pop("EARSHOT_RENDEZVOUS", None)
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", lab.ns(host), *words],
            stdin=stdin,
            stdout=self.out,
            stderr=self.err,
            env=environment,
        )

    def lines(self):
        for line in whole_lines(self.out.name):
            try:
                yield json.loads(line)
            except ValueError:
                yield {"type": "unparsable", "line": line}

    def wait_line(self, condition, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for line in self.lines():
                if condition(line):
                    return line
            if self.process.poll() is not None:
                for line in self.lines():
                    if condition(line):
                        return line
                break
            time.sleep(0.02)
        raise AssertionError(
            f"{self.label}: awaited line did not come in {seconds} s\n{self.describe()}"
        )

    def wait_event(self, name, seconds=10):
        return self.wait_line(
            lambda line: line.get("type") == "event" and line.get("name") == name, seconds
        )

    def wait(self, seconds):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(
                f"{self.label}: still runs after {seconds} s\n{self.describe()}"
            ) from None

    def summary(self):
        found = [line for line in self.lines() if line.get("type") == "summary"]
        assert found, f"{self.label}: no summary\n{self.describe()}"
        return found[-1]

    def signal(self, number):
        os.kill(self.pid(), number)

    def pid(self):
        """`ip netns exec` becomes the program itself."""
        return self.process.pid

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def wait_words(self, words, seconds):
        """Until it has said them on standard error."""
        end = time.monotonic() + seconds
        while words not in self.stderr():
            assert time.monotonic() < end, (
                f"  '{words}' was not said in {seconds} s: {self.stderr()}"
            )
            time.sleep(0.02)

    def stderr(self):
        with open(self.err.name, errors="replace") as file:
            return file.read()

    def describe(self):
        with open(self.out.name, errors="replace") as file:
            out = file.read()[-1500:]
        return (
            f"  command: {' '.join(self.words)}\n  stdout: {out}\n  stderr: {self.stderr()[-800:]}"
        )
