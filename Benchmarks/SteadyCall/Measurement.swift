import AllocationCounter
import Glibc
import Synchronization

/// Looks at the counts of allocations once a frame, from the media thread: which frames had any.
final class TickWatch: @unchecked Sendable {
  // Sendable: the media thread alone moves what is not atomic while `isOn`.
  private let isOn = Atomic<Bool>(false)
  private var last: UInt64 = 0
  private(set) var ticks = 0
  private(set) var ticksWithAllocations = 0

  func start() {
    last = allocation_total()
    ticks = 0
    ticksWithAllocations = 0
    isOn.store(true, ordering: .releasing)
  }

  func stop() { isOn.store(false, ordering: .releasing) }

  func tick() {
    guard isOn.load(ordering: .acquiring) else { return }
    let total = allocation_total()
    ticks += 1
    if total != last { ticksWithAllocations += 1 }
    last = total
  }
}

/// What this process has used so far.
struct Usage {
  var cpuNanoseconds: UInt64 = 0
  var voluntarySwitches = 0
  var forcedSwitches = 0
  var allocations: UInt64 = 0
  var wallNanoseconds: UInt64 = 0

  static var now: Usage {
    var usage = Usage()
    usage.cpuNanoseconds = clock(CLOCK_PROCESS_CPUTIME_ID)
    usage.wallNanoseconds = clock(CLOCK_MONOTONIC)
    usage.allocations = allocation_total()
    var resources = rusage()
    if unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &resources) == 0 {
      usage.voluntarySwitches = resources.ru_nvcsw
      usage.forcedSwitches = resources.ru_nivcsw
    }
    return usage
  }

  private static func clock(_ id: clockid_t) -> UInt64 {
    var time = timespec()
    _ = unsafe clock_gettime(id, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

/// Counts by thread name, the loop's and the media thread's first of all.
struct ThreadAllocations {
  private(set) var counts: [String: UInt64] = [:]

  static var now: ThreadAllocations {
    var all = ThreadAllocations()
    for thread in 0..<allocation_thread_count() {
      let name = unsafe allocation_thread_name(thread).map { unsafe String(cString: $0) } ?? ""
      all.counts[name, default: 0] += allocation_count(thread)
    }
    return all
  }

  func since(_ earlier: ThreadAllocations) -> [(name: String, count: UInt64)] {
    counts.sorted { $0.key < $1.key }
      .map { ($0.key, $0.value - (earlier.counts[$0.key] ?? 0)) }
  }
}

/// A line of `/proc/self/status`, in KiB.
func residentKibibytes(_ field: String) -> Int {
  guard let file = unsafe fopen("/proc/self/status", "r") else { return 0 }
  defer { unsafe fclose(file) }
  var line = [CChar](repeating: 0, count: 256)
  while unsafe fgets(&line, Int32(line.count), file) != nil {
    let text = String(
      decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    guard text.hasPrefix(field + ":") else { continue }
    return Int(text.filter(\.isNumber)) ?? 0
  }
  return 0
}

/// Time on a core by thread name, in ns, as the kernel's scheduler counts it.
func processorNanosecondsByThread() -> [String: UInt64] {
  var times: [String: UInt64] = [:]
  guard let folder = unsafe opendir("/proc/self/task") else { return times }
  defer { unsafe closedir(folder) }
  while let entry = unsafe readdir(folder) {
    let name = unsafe withUnsafePointer(to: entry.pointee.d_name) {
      unsafe String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
    }
    guard let thread = firstLine("/proc/self/task/\(name)/comm"),
      let time = firstLine("/proc/self/task/\(name)/schedstat")?.split(separator: " ").first
    else { continue }
    times[thread, default: 0] += UInt64(time) ?? 0
  }
  return times
}

private func firstLine(_ path: String) -> String? {
  guard let file = unsafe fopen(path, "r") else { return nil }
  defer { unsafe fclose(file) }
  var line = [CChar](repeating: 0, count: 256)
  guard unsafe fgets(&line, Int32(line.count), file) != nil else { return nil }
  let bytes = line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }
  return String(decoding: bytes, as: UTF8.self)
}
