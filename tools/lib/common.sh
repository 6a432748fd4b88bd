# What every tool begins with: where the package is, how to speak, and one build tree.
# Sourced, not run.

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
configuration="${EARSHOT_CONFIGURATION:-release}"

# A trap must end a test run at once; the default back-trace helper may hold the pipe for minutes.
export SWIFT_BACKTRACE="${SWIFT_BACKTRACE:-enable=no}"

say() { printf '%s\n' "== $*"; }
complain() { printf '%s\n' "$(basename "$0"): $*" >&2; }

# seconds_since START: whole seconds since START, a value of $SECONDS.
seconds_since() { echo $((SECONDS - $1)); }

# The tree of the tests: release, with what `@testable import` asks for. Programs for use are built
# plainly, by `swift build -c release`, into .build.
tree=(--package-path "$root" --scratch-path "$root/.build/tests" -c "$configuration"
  -Xswiftc -enable-testing)

# The folder where `build` leaves its programs.
binaries() { swift build "${tree[@]}" --show-bin-path; }

# build ARGUMENTS...: builds for the tests, refusing imports that the manifest does not declare.
build() { swift build "${tree[@]}" --explicit-target-dependency-import-check error "$@"; }
