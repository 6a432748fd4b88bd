"""Which keys stand in the memory of a program that runs (Linux: /proc/PID/maps and mem)."""


def readable(pid):
    """Whether we may read the memory of this process."""
    try:
        with open(f"/proc/{pid}/mem", "rb"), open(f"/proc/{pid}/maps") as maps:
            return bool(maps.readline())
    except OSError:
        return False


def found(pid, keys):
    """The names of those of `keys` (name to bytes) that stand somewhere in memory, sorted."""
    names = set()
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            span, rights = line.split()[:2]
            if not rights.startswith("rw") or line.rstrip().endswith(("[vvar]", "[vsyscall]")):
                continue
            start, end = (int(part, 16) for part in span.split("-"))
            names |= _in_span(memory, start, end, keys)
    return sorted(names)


def _in_span(memory, start, end, keys):
    try:
        memory.seek(start)
        data = memory.read(end - start)
    except (OSError, ValueError, OverflowError):
        return set()  # a page that nobody may touch
    return {name for name, key in keys.items() if key in data}


def of_session(session, label):
    """Every key of a session of the independent client, by name."""
    keys = {f"{label}: chain {i}": chain for i, chain in enumerate(session.chains)}
    for name, way in (("sends", session.out), ("receives", session.into)):
        keys[f"{label}: AEAD key of what ours {name}"] = way.keys[0]
        keys[f"{label}: header key of what ours {name}"] = way.keys[1]
    for i, key in enumerate(session.split_keys):
        keys[f"{label}: Noise key {i}"] = key
    keys[f"{label}: Noise chaining key"] = session.noise_chain
    return keys
