internal import Glibc

/// What this process has used and may use, for whoever watches it. What cannot be read is 0.
package struct ProcessNumbers: Sendable, Equatable {
  /// User and system time of all threads.
  package var cpuNanoseconds: UInt64 = 0
  package var residentByteCount: UInt64 = 0
  package var virtualByteCount: UInt64 = 0
  /// Descriptors that are open now, and how many may be.
  package var openFileCount: UInt64 = 0
  package var openFileLimit: UInt64 = 0

  package init() {}

  /// As it is now: a few reads of `/proc`.
  package static func read() -> ProcessNumbers {
    var numbers = ProcessNumbers()
    var time = timespec()
    if unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 {
      numbers.cpuNanoseconds =
        UInt64(clamping: time.tv_sec) * 1_000_000_000 + UInt64(clamping: time.tv_nsec)
    }
    let page = UInt64(clamping: sysconf(Int32(_SC_PAGESIZE)))
    let pages = text("/proc/self/statm").split(separator: " ").prefix(2).map { UInt64($0) ?? 0 }
    if pages.count == 2 {
      numbers.virtualByteCount = pages[0] &* page
      numbers.residentByteCount = pages[1] &* page
    }
    numbers.openFileCount = openFileCount()
    var limit = rlimit()
    if unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
      numbers.openFileLimit = UInt64(limit.rlim_cur)
    }
    return numbers
  }

  /// Without the one that counts.
  private static func openFileCount() -> UInt64 {
    guard let directory = unsafe opendir("/proc/self/fd") else { return 0 }
    defer { unsafe closedir(directory) }
    var count: UInt64 = 0
    while let entry = unsafe readdir(directory) {
      // Not "." and "..".
      if unsafe entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { count += 1 }
    }
    return count > 0 ? count - 1 : 0
  }

  private static func text(_ path: String) -> String {
    do throws(ReactorError) {
      let bytes = try ProcessSurroundings.contents(of: path, limit: 4096)
      return String(decoding: bytes, as: UTF8.self)
    } catch {
      return ""  // A system without it.
    }
  }
}
