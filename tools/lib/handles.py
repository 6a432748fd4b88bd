"""Constants of docs/congestion.md and docs/playout.md, and a copy of the package that turns them."""

import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = {"congestion.md": "lab", "playout.md": "ear"}
NUMBER = r"-?[0-9][0-9_]*(?:\.[0-9]+)?(?:e[0-9]+)?"
TIME = r"(?:Duration)?\.(?:seconds|milliseconds|microseconds|nanoseconds)\([0-9_]+\)"
VALUE = rf"({NUMBER}(?: \* {NUMBER})*|{TIME})"
# Bounds of memory, and what the wire or a codec says: turned, they are other programs.
FIXED = re.compile(r"^`(capacity|\w*Capacity|\w*ByteCount)`")
GIVEN = re.compile(r"RFC|frames\.md|libopus|\bbound\b")

TUNE = """
import Glibc

/// What the environment turns: `EARSHOT_TUNE` is "ID*FACTOR" or "ID=VALUE", several with commas.
package enum Tune {
  private static let turns: [(id: Int, value: Double, isFactor: Bool)] = {
    guard let text = unsafe getenv("EARSHOT_TUNE") else { return [] }
    return unsafe String(cString: text).split(separator: ",").compactMap { part in
      let isFactor = part.contains("*")
      let words = part.split(separator: isFactor ? "*" : "=")
      guard words.count == 2, let id = Int(words[0]), let value = Double(words[1]) else {
        return nil
      }
      return (id, value, isFactor)
    }
  }()

  private static func turned(_ id: Int, _ value: Double) -> Double? {
    turns.first { $0.id == id }.map { $0.isFactor ? value * $0.value : $0.value }
  }

  package static func scale<T: BinaryInteger>(_ id: Int, _ value: T) -> T {
    turned(id, Double(value)).map { T(clamping: Int64(min(max($0.rounded(), -9e18), 9e18))) } ?? value
  }
  package static func scale(_ id: Int, _ value: Double) -> Double { turned(id, value) ?? value }
  package static func scale(_ id: Int, _ value: Float) -> Float {
    turned(id, Double(value)).map { Float($0) } ?? value
  }
  package static func scale(_ id: Int, _ value: Duration) -> Duration {
    turned(id, value / .nanoseconds(1)).map { .nanoseconds(Int64(min($0, 9e18))) } ?? value
  }
}
"""


class Row:
    """One row of a table: where it stands, and its handle."""

    def __init__(self, page, file, text, name, index):
        self.page, self.file, self.name, self.index = page, file, name, index
        self.key = f"{os.path.basename(file)[:-6]}.{name}"
        self.isFixed = bool(FIXED.search(name) or GIVEN.search(text.split(" | ")[-1]))
        self.ids = []


def rows():
    found = []
    for page in PAGES:
        file = None
        with open(os.path.join(ROOT, "docs", page)) as text:
            for index, line in enumerate(text):
                head = re.match(r"\| \*\*`(.*?)`\*\*", line)
                if head:
                    file = "Sources/" + head.group(1)
                row = re.match(r"\| (`[^|]*?) \|", line)
                if file and row:
                    found.append(Row(page, file, line, row.group(1), index))
    return found


def names(row):
    """The plain names of a row: one, or several that share it."""
    parts = [part.strip().strip("`") for part in row.name.split(",")]
    if ":" in row.name and "`" in row.name.split(":")[0] and not row.name.endswith("`"):
        return []
    return [part.split(".")[-1] for part in parts if re.fullmatch(r"[A-Za-z.0-9]+", part)]


def instrument(folder, all_rows):
    """Gives the constants of the rows their handles; {id: (row key, name)}."""
    handles = {}
    for file in sorted({row.file for row in all_rows}):
        path = os.path.join(folder, file)
        if not os.path.exists(path):
            continue
        text = before = open(path).read()
        for row in [row for row in all_rows if row.file == file and not row.isFixed]:
            for name in names(row):
                pattern = re.compile(
                    rf"((?:static let|package var|  var) {name}(?:: (\w+))?) = {VALUE}$", re.M
                )
                match = pattern.search(text)
                if not match:
                    continue
                id = len(handles) + 1
                kind = match.group(2)
                value = f"({match.group(3)}) as {kind}" if kind else match.group(3)
                text = (
                    text[: match.start()]
                    + f"{match.group(1)} = Tune.scale({id}, {value})"
                    + text[match.end() :]
                )
                handles[id] = (row.key, name)
                row.ids.append(id)
        if text != before:
            if not re.search(r"^(package |internal |public )?import Primitives$", text, re.M):
                text = "import Primitives\n" + text
            open(path, "w").write(text)
    return handles


def prepare(folder, all_rows):
    source = os.path.join(folder, "package")
    os.makedirs(source, exist_ok=True)
    for part in ("Sources", "Tests", "tools", "Benchmarks", "Examples"):
        shutil.rmtree(os.path.join(source, part), ignore_errors=True)
        shutil.copytree(os.path.join(ROOT, part), os.path.join(source, part))
    manifest = open(os.path.join(ROOT, "Package.swift")).read()
    for strict in ("strictMemorySafety()", "treatAllWarnings(as: .error)"):
        manifest = re.sub(rf"^  \.{re.escape(strict)}.*$", "", manifest, flags=re.M)
    open(os.path.join(source, "Package.swift"), "w").write(manifest)
    open(os.path.join(source, "Sources/Primitives/Tune.swift"), "w").write(TUNE)
    handles = instrument(source, all_rows)
    command = ["swift", "build", "--package-path", source, "-c", "release"]
    for product in ("CongestionReportCommand", "ListenCommand"):
        built = subprocess.run(
            [*command, "--product", product],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        if built.returncode != 0:
            sys.exit(f"tools/sensitivity: {product}: {built.stdout[-3000:]}{built.stderr[-2000:]}")
    return os.path.join(source, ".build/release"), handles
