import Primitives
import Reactor
import Rendezvous
import Wire

/// What Prometheus reads of a server.
extension Server {
  func listenForMetrics(_ text: String) throws(ServeError) {
    let address = try Self.resolve(text, "--metrics", defaultPort: 9100)
    let startSeconds = SystemClock.wallNanoseconds / 1_000_000_000
    do throws(ReactorError) {
      metrics = try MetricsServer(binding: address, on: loop) { [weak self, driver, loop, redis] in
        var text = MetricsText()
        driver.readMachine { text.add($0.counters, $0.gauges) }
        Self.addSocket(driver.statistics, loop, to: &text)
        if let store = redis?.store { text.add(store) }
        if let nodes = self?.nodes {
          text.add(
            "earshot_rendezvous_nodes_end_time_seconds",
            "When clients refuse the list of nodes, in seconds since 1970.",
            nodes.content.notAfter)
        }
        Self.addProcess(startSeconds: startSeconds, to: &text)
        return text.text
      }
    } catch { throw .reactor(error, option: "--metrics") }
    guard let address = metrics?.localAddress, !address.isLoopback else { return }
    log.write(
      .warning, "metrics",
      "metrics are open to everybody who reaches \(address): bind them to 127.0.0.1, or guard the "
        + "port.", now: SystemClock.now)
  }

  private static func addSocket(
    _ statistics: UDPStatistics, _ loop: EventLoop, to text: inout MetricsText
  ) {
    let prefix = "earshot_rendezvous_"
    text.add(
      prefix + "send_dropped_room_total", "Datagrams the kernel had no room for.",
      statistics.droppedForRoom)
    text.add(
      prefix + "send_refused_total", "Datagrams the kernel refused.",
      statistics.droppedForRefusal)
    text.add(prefix + "receive_errors_total", "Errors of receiving.", statistics.receiveErrors)
    text.add(
      prefix + "longest_turn_seconds", "Longest turn of the event loop.",
      nanoseconds: loop.longestTurnNanoseconds)
    text.add(
      prefix + "build_info", "The version that runs.", version: ServeOptions.version,
      commit: BuildCommit.text)
  }

  /// What every client library of Prometheus tells of its process, by the same names.
  private static func addProcess(startSeconds: UInt64, to text: inout MetricsText) {
    let numbers = ProcessNumbers.read()
    text.add(
      "process_cpu_seconds_total", "User and system time.", nanoseconds: numbers.cpuNanoseconds)
    text.add("process_resident_memory_bytes", "Memory in use.", numbers.residentByteCount)
    text.add("process_virtual_memory_bytes", "Addresses in use.", numbers.virtualByteCount)
    text.add("process_open_fds", "Open file descriptors.", numbers.openFileCount)
    text.add("process_max_fds", "File descriptors that may be open.", numbers.openFileLimit)
    text.add("process_start_time_seconds", "Start, in seconds since 1970.", startSeconds)
  }
}
