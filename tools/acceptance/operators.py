"""What an operator does with a rendezvous: options, signals, health, metrics, alerts, backup."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time

from holds import registered
from lab import ADDRESS, BIN, PORT, ROOT
from scenarios import equal, outcome, ready, scenario

ALERTS = os.path.join(ROOT, "tools", "alerts")
FETCH = """
import sys, urllib.error, urllib.request
request = urllib.request.Request(sys.argv[2], method=sys.argv[1])
try:
    answer = urllib.request.urlopen(request, timeout=3)
except urllib.error.HTTPError as error:
    answer = error
print(answer.status)
sys.stdout.write(answer.read().decode())
"""


def configured(lab, more="", **environment):
    """A rendezvous that has its options from a file."""
    with open(lab.path("rendezvous.conf"), "w") as file:
        file.write(
            f"listen = {ADDRESS['r']}:{PORT}\ndata = {lab.path('data')}\n"
            f"metrics = 127.0.0.1:9100\njson = yes\n{more}"
        )
    words = [f"{name}={value}" for name, value in environment.items()]
    server = lab.run(
        "r", "env", *words, f"{BIN}/earshot-rendezvous", "--config", lab.path("rendezvous.conf")
    )
    server.wait_line(lambda line: line.get("type") == "listening", 5)
    return server


def fetch(lab, path, method="GET", port=9100):
    """Status and text at `path` of the metrics' address, or at another port."""
    told = subprocess.run(
        ["ip", "netns", "exec", lab.ns("r"), "python3", "-c", FETCH]
        + [method, f"http://127.0.0.1:{port}{path}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    status, _, text = told.partition("\n")
    return int(status), text


@scenario
def a_rendezvous_with_a_file_of_options(lab):
    path = lab.path("manager")
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(path)
    manager.settimeout(5)
    server = configured(lab, NOTIFY_SOCKET=path)
    equal(manager.recv(100), b"READY=1", "what the manager is told at the start")
    equal(fetch(lab, "/health"), (200, "ok\n"), "/health")
    equal(fetch(lab, "/ready"), (200, "ready\n"), "/ready")
    equal(fetch(lab, "/metrics", "HEAD"), (200, ""), "HEAD of /metrics")
    equal(fetch(lab, "/")[0], 404, "another path")
    bob = ready(lab, "--accept", "--calls", "1")
    with open(lab.path("allow"), "w") as file:
        file.write("# nobody\n")
    with open(lab.path("rendezvous.conf"), "a") as file:
        file.write(f"allow = {lab.path('allow')}\nlog-level = debug\n")
    server.signal(signal.SIGHUP)
    assert manager.recv(100).startswith(b"RELOADING=1\nMONOTONIC_USEC=")
    equal(manager.recv(100), b"READY=1", "what the manager is told after SIGHUP")
    server.wait_words("was read again", 5)
    equal(
        lab.peer("b", "answer", "--accept", name="carol").wait(12),
        4,
        "exit code of one who is not listed any more",
    )
    time.sleep(1)  # the log has one line a reason and second
    with open(lab.path("rendezvous.conf"), "a") as file:
        file.write("alow = x\n")
    server.signal(signal.SIGHUP)
    server.wait_words("line 7: 'alow' is not an option", 5)
    equal(fetch(lab, "/ready")[0], 200, "/ready after a mistake")
    for _ in range(2):
        manager.recv(100)
    server.signal(signal.SIGTERM)
    equal(manager.recv(100), b"STOPPING=1", "what the manager is told at the end")
    equal(server.wait(2), 0, "exit code")
    bob.kill()


@scenario
def a_backup_while_the_rendezvous_runs(lab):
    server = configured(lab)
    bob = ready(lab, "--accept", "--calls", "1")
    backup = lab.run(
        "r", f"{BIN}/earshot-rendezvous", "backup", lab.path("b"), "--data", lab.path("data")
    )
    equal(backup.wait(5), 0, "exit code of backup")
    alice = lab.peer("a", "call", "bob", "--duration", "6", name="alice")
    alice.wait_event("connected")
    server.kill()
    restore = lab.run(
        "r", f"{BIN}/earshot-rendezvous", "restore", lab.path("b"), "--data", lab.path("new")
    )
    equal(restore.wait(5), 0, "exit code of restore")
    lab.rendezvous(data="new")
    outcome(alice, "completed", 0, 20)
    outcome(bob, "completed", 0)
    # The same server, with the same names: nobody notices.
    bob = ready(lab, "--accept", "--calls", "1")
    thief = lab.peer("a", "answer", "--accept", identity="thief", name="bob")
    equal(thief.wait(12), 4, "exit code of one who wants bob's name")
    bob.kill()


@scenario
def metrics_and_alerts_as_prometheus_reads_them(lab):
    promtool = shutil.which("promtool")
    if not promtool:
        return "skipped: no promtool (tools/setup --operator)"
    server = configured(lab)
    bob = ready(lab, "--accept", "--calls", "1")
    registered(bob, 1, 5)
    time.sleep(1.2)  # the numbers are at most a second old
    status, text = fetch(lab, "/metrics")
    equal(status, 200, "/metrics")
    check = subprocess.run(
        [promtool, "check", "metrics"], input=text, capture_output=True, text=True
    )
    equal((check.returncode, check.stderr), (0, ""), "promtool check metrics")
    assert "\nearshot_rendezvous_clients 1\n" in text, text
    with open(os.path.join(ALERTS, "rendezvous.rules.yml")) as file:
        named = set(re.findall(r"earshot_rendezvous_\w+", file.read()))
    missing = [name for name in named if f"\n# TYPE {name} " not in text]
    equal(missing, [], "metrics of the alerts that there are not")
    rules = [("check", "rendezvous.rules.yml"), ("test", "rendezvous.test.yml")]
    for verb, file in rules + [("check", "nodes.rules.yml"), ("test", "nodes.test.yml")]:
        told = subprocess.run(
            [promtool, verb, "rules", file], cwd=ALERTS, capture_output=True, text=True
        )
        equal(told.returncode, 0, f"{verb} {file}: {told.stdout} {told.stderr}")
    server.signal(signal.SIGTERM)
    equal(server.wait(2), 0, "exit code")
    bob.kill()


@scenario
def a_server_that_drains_delivers_what_is_under_way(lab):
    """bob's program stands still while alice's invitation is on its way to it. The server is told
    to end: carol, who has nothing under way, hears of it within a second; bob gets the invitation
    when his program goes on, and the server then ends at once, not when its time is over."""
    server = configured(lab, "drain = 30\n")
    bob = ready(lab, "--accept", "--calls", "1")
    carol = lab.peer("a", "answer", "--accept", identity="carol", name="carol")
    registered(carol, 1, 5)
    bob.signal(signal.SIGSTOP)
    alice = lab.peer("a", "call", "bob", "--duration", "3", name="alice")
    registered(alice, 1, 5)
    time.sleep(0.7)  # the server has it, and repeats it
    server.signal(signal.SIGTERM)
    carol.wait_event("reconnecting", 1)
    assert server.process.poll() is None, "  the server did not wait for bob"
    time.sleep(1)
    bob.signal(signal.SIGCONT)
    bob.wait_event("incomingCall", 3)
    equal(server.wait(3), 0, "exit code of the server")
    for program in (alice, bob, carol):
        program.kill()


def asked(lab, path, wanted, seconds):
    """What Prometheus answers, once `wanted` takes it."""
    end = time.monotonic() + seconds
    while True:
        try:
            _, text = fetch(lab, path, port=9090)
            data = json.loads(text)["data"]
            if wanted(data):
                return data
        except (subprocess.CalledProcessError, ValueError):
            text = "nothing answers yet"  # or it is still loading
        assert time.monotonic() < end, f"  {path} after {seconds} s: {text}"
        time.sleep(0.5)


@scenario
def a_prometheus_scrapes_and_loads_the_alerts(lab):
    program = shutil.which("prometheus")
    if not program:
        return "skipped: no prometheus (tools/setup --operator)"
    server = configured(lab)
    bob = ready(lab, "--accept", "--calls", "1")
    with open(lab.path("prometheus.yml"), "w") as file:
        file.write(
            "global: { scrape_interval: 1s, evaluation_interval: 1s }\n"
            f"rule_files: ['{ALERTS}/rendezvous.rules.yml']\n"
            "scrape_configs:\n  - job_name: earshot\n"
            "    static_configs: [{ targets: ['127.0.0.1:9100'] }]\n"
        )
    words = [f"--config.file={lab.path('prometheus.yml')}", "--web.listen-address=127.0.0.1:9090"]
    words += [f"--storage.tsdb.path={lab.path('tsdb')}", "--log.level=warn"]
    prometheus = lab.run("r", program, *words)
    scraped = asked(
        lab,
        "/api/v1/query?query=earshot_rendezvous_clients",
        lambda data: data["result"] and data["result"][0]["value"][1] == "1",
        30,
    )
    equal(scraped["result"][0]["metric"]["job"], "earshot", "the job that scrapes")
    rules = asked(
        lab,
        "/api/v1/rules?type=alert",
        lambda data: all(r["health"] != "unknown" for g in data["groups"] for r in g["rules"]),
        30,
    )
    rules = [rule for group in rules["groups"] for rule in group["rules"]]
    with open(os.path.join(ALERTS, "rendezvous.rules.yml")) as file:
        equal(len(rules), file.read().count("- alert:"), "alerts that are loaded")
    equal([rule["name"] for rule in rules if rule["health"] != "ok"], [], "alerts in error")
    firing = [rule["name"] for rule in rules if rule["state"] == "firing"]
    equal(firing, [], "alerts of a server that is well")
    prometheus.signal(signal.SIGTERM)
    server.signal(signal.SIGTERM)
    equal(server.wait(2), 0, "exit code")
    bob.kill()
