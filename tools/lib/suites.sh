# Which test suites run by the real clock. Sourced, not run.

# live_suites: prints a regular expression of the suites that use sockets, threads and programs of
# the host. Beside simulations that keep all cores busy, what they wait for comes late.
live_suites() {
  local file name
  local means='LoopbackTown|RelayTown|LoopbackRendezvous|Rehearsal\.|await Endpoint\('
  means="$means|EventLoop\b|UDPSocket\(|RedisServer\(|StoreUnderTest|Thread\b"
  grep -lE "$means" -r "$root/Tests" --include='*Tests.swift' | sort | while read -r file; do
    name="${file#"$root/Tests/"}"
    sed -nE "s/.*(struct|class|actor) ([A-Za-z0-9]+Tests)\b.*/${name%%/*}\\\\.\2/p" "$file"
  done | sort -u | paste -sd'|' | sed 's/.*/^(&)\//'
}
