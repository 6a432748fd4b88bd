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

# The folder where `swift build` leaves the programs of this configuration.
binaries() { swift build --package-path "$root" -c "$configuration" --show-bin-path; }

# build ARGUMENTS...: builds with the settings that every tool shares, so that they share one tree.
build() {
  swift build --package-path "$root" -c "$configuration" \
    --explicit-target-dependency-import-check error "$@"
}
