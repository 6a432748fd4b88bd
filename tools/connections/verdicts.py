"""What `earshot doctor` says of translators that are known: mapping, filtering, hairpin, lifetime."""

import json
import shutil

from lab import BIN, sh
from town import INSIDE, PORT, PUBLIC, SERVER, Town

#: The second address of the server.
SECOND = "10.79.0.4"
#: After how many seconds of silence the translators with a timeout of their own forget.
TIMEOUT = 12
NONE, ALIKE, ANEW = (
    "no translation",
    "endpoint-independent",
    "address-dependent, or address and port-dependent",
)
EVERYBODY, HOSTS, PLACES = "endpoint-independent", "address-dependent", "address and port-dependent"
KEPT, SHORT = "56 s and more", f"about {TIMEOUT} s"
#: What each does: (mapping, filtering, hairpin, lifetime). "full" forwards every port, and "address" remembers hosts
#: for two minutes: to them silence closes nothing.
KNOWN = {
    "none": (NONE, EVERYBODY, None, KEPT),
    "full": (ALIKE, EVERYBODY, False, KEPT),
    "full, hairpin": (ALIKE, EVERYBODY, True, KEPT),
    "address": (ALIKE, HOSTS, False, KEPT),
    "port": (ALIKE, PLACES, False, SHORT),
    "open": (ALIKE, PLACES, False, SHORT),
    "symmetric": (ANEW, PLACES, False, SHORT),
    "udpblock": (None, None, None, None),
}


def missing():
    """Why this table cannot be made here; `None` if it can."""
    return None if shutil.which("nft") else "nft is not installed (tools/setup --router)"


#: "address" of Town remembers hosts for all sockets inside together; this one for each socket (RFC 4787, section 5).
BY_SOCKET = """
table ip doctor {
  set asked { type ipv4_addr . inet_service; size 4096; flags dynamic, timeout; timeout 120s; }
  chain forward {
    type filter hook forward priority -10;
    iifname "in0" meta l4proto udp update @asked { ip daddr . udp sport }
    iifname "eth0" meta l4proto udp ip saddr . udp dport != @asked drop
  }
}
"""


def prepare(town, kind):
    sh("ip", "-n", town.ns("r"), "addr", "add", f"{SECOND}/24", "dev", "eth0")
    if kind == "none":
        return
    box = town.ns("an")
    for name in ("nf_conntrack_udp_timeout", "nf_conntrack_udp_timeout_stream"):
        sh("ip", "netns", "exec", box, "sysctl", "-qw", f"net.netfilter.{name}={TIMEOUT}")
    if kind == "address":
        sh("ip", "netns", "exec", box, "nft", BY_SOCKET)
    if kind == "full, hairpin":
        inside, outside = f"{INSIDE['a']}.2", PUBLIC["a"][0]
        for rule in (
            f"-A PREROUTING -i in0 -p udp -d {outside} -j DNAT --to-destination {inside}",
            f"-A POSTROUTING -o in0 -p udp -s {inside} -j SNAT --to-source {outside}",
        ):
            sh("ip", "netns", "exec", box, "iptables", "-w", "-t", "nat", *rule.split())


def examine(town, long):
    servers = [
        word for address in (SERVER[4], SECOND) for word in ("--rendezvous", f"{address}:{PORT}")
    ]
    program = town.run(
        "a",
        f"{BIN}/earshot",
        "doctor",
        *servers,
        *(["--long"] if long else []),
        "--json",
        "--identity",
        town.path("identity-a"),
    )
    code = program.wait(300 if long else 60)
    return code, next(program.lines())


def lifetime(line):
    least, dead = line.get("lifetimeAtLeastS"), line.get("lifetimeLessThanS")
    if least is None:
        return None
    if dead is None:
        return KEPT if least >= 56 else f"{least:.0f} s and more"
    # The kernel counts in whole seconds and looks when it comes by: a second either way.
    return SHORT if least - 1 <= TIMEOUT <= dead + 1 else f"{least:.1f} to {dead:.1f} s"


def told(code, found):
    """The same four of a doctor's object."""
    if code != 0:
        return (None, None, None, None)
    line = next((entry["line"] for entry in found["rendezvous"] if "line" in entry), {})
    mapping = found["translators"][0]["mapping"].removesuffix(" mapping")
    mapping = {"address-dependent mapping, or address and port-dependent": ANEW}.get(
        mapping, mapping
    )
    return (
        mapping,
        (line.get("filtering") or "?").removesuffix(" filtering"),
        line.get("hairpins"),
        lifetime(line),
    )


def verdicts(kinds, long):
    rows, wrong = [], []
    for kind in kinds:
        with Town(kind.split(",")[0], "none") as town:
            prepare(town, kind)
            town.server()
            code, found = examine(town, long)
        expected, said = KNOWN[kind], told(code, found)
        if not long:
            expected, said = (*expected[:3], None), (*said[:3], None)
        cells = [text(one, is_right=one == other) for one, other in zip(said, expected)]
        rows.append([kind, *cells, found["sentence"]])
        for name, one, other in zip(
            ("mapping", "filtering", "hairpin", "lifetime"), said, expected
        ):
            if one != other:
                wrong.append(
                    f"{kind}: {name} is {other}, and was said to be {one}: {json.dumps(found)[:1500]}"
                )
        lacking = [
            entry
            for entry in found["findings"]
            if entry["verdict"] != "good" and "remedy" not in entry
        ]
        if lacking:
            wrong.append(f"{kind}: no remedy for {lacking}")
        if (kind == "udpblock") != (code == 3):
            wrong.append(f"{kind}: exit code {code}")
    return (
        ["translator", "mapping", "filtering", "hairpin", "closed after", "sentence"],
        rows,
        wrong,
    )


def text(value, is_right):
    words = {None: "–", True: "yes", False: "no"}.get(value, value)
    return words if is_right else f"**{words}**"
