internal import CLinux
internal import Glibc
package import Primitives

/// What this process, and the whole host, use of processor and memory. Shares are of the time since
/// the sample before.
package struct HostUsage: Sendable, Equatable {
  /// Of one core, 0 and more; `nil` before there are two samples.
  package var processShare: Double?
  /// Of all cores, 0...1.
  package var hostShare: Double?
  /// Bytes of this process in memory.
  package var residentBytes = 0
  /// Of the host's memory, 0...1, that this process has, and that all have.
  package var residentFraction: Double?
  package var usedMemoryFraction: Double?
}

/// Samples what `HostUsage` says; belongs to one loop.
package struct HostUsageMeter {
  private var last: (time: Instant, process: UInt64, busy: UInt64, total: UInt64)?

  package init() {}

  /// A few reads of `/proc`; what cannot be read stays out.
  package mutating func sample(now: Instant) -> HostUsage {
    var usage = HostUsage()
    let process = Self.processNanoseconds
    let host = Self.hostTicks(Self.text("/proc/stat", limit: 4096))
    if let last, now > last.time {
      let elapsed = Double(now.nanoseconds(since: last.time))
      usage.processShare = Double(process &- last.process) / elapsed
      if let host { usage.hostShare = Self.share(of: host, since: (last.busy, last.total)) }
    }
    last = (now, process, host?.busy ?? 0, host?.total ?? 0)
    let pages = Self.text("/proc/self/statm", limit: 256).split(separator: " ")
    if pages.count > 1, let resident = Int(pages[1]) {
      usage.residentBytes = resident * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
    fillMemory(&usage)
    return usage
  }

  private func fillMemory(_ usage: inout HostUsage) {
    let text = Self.text("/proc/meminfo", limit: 4096)
    guard let total = Self.kilobytes("MemTotal:", in: text), total > 0,
      let free = Self.kilobytes("MemAvailable:", in: text)
    else { return }
    usage.usedMemoryFraction = Double(total - min(free, total)) / Double(total)
    usage.residentFraction = Double(usage.residentBytes) / 1024 / Double(total)
  }

  /// User and system time of all threads.
  private static var processNanoseconds: UInt64 {
    var time = timespec()
    guard unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 else { return 0 }
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  /// The first line of `/proc/stat`: ticks by what they were spent on; the fourth and fifth are
  /// idle.
  static func hostTicks(_ text: String) -> (busy: UInt64, total: UInt64)? {
    guard let line = text.split(separator: "\n").first, line.hasPrefix("cpu ") else { return nil }
    let ticks = line.split(separator: " ").dropFirst().compactMap { UInt64($0) }
    guard ticks.count >= 5 else { return nil }
    // Guests are counted in user time as well.
    let total = ticks.prefix(8).reduce(0, &+)
    return (total &- ticks[3] &- ticks[4], total)
  }

  /// `nil` where no time has passed. The kernel's count of idle time may go back, and busy time
  /// with it (proc(5)).
  static func share(
    of host: (busy: UInt64, total: UInt64), since last: (busy: UInt64, total: UInt64)
  ) -> Double? {
    guard host.total > last.total else { return nil }
    let busy = host.busy - min(host.busy, last.busy)
    return min(1, Double(busy) / Double(host.total - last.total))
  }

  static func kilobytes(_ name: String, in text: String) -> Int? {
    for line in text.split(separator: "\n") where line.hasPrefix(name) {
      return line.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    }
    return nil
  }

  private static func text(_ path: String, limit: Int) -> String {
    do throws(ReactorError) {
      let bytes = try ProcessSurroundings.contents(of: path, limit: limit)
      return String(decoding: bytes, as: UTF8.self)
    } catch {
      return ""  // A system without it: the number stays out.
    }
  }
}
