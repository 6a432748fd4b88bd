internal import CLinux
internal import Primitives

/// What the kernel grants this process, asked of the kernel itself.
package enum HostResources {
  /// Bytes that may be locked into memory (`RLIMIT_MEMLOCK`); `nil` = no limit.
  package static var lockedMemoryLimit: UInt64? { limit(earshot_locked_memory_limit()) }

  /// The highest real-time priority that threads may have (`RLIMIT_RTPRIO`); 0 = none.
  package static var realTimeLimit: UInt64? { limit(earshot_real_time_limit()) }

  /// Whether `byteCount` bytes can be locked now: they are, and let go.
  package static func canLock(byteCount: Int) -> Bool { earshot_can_lock_memory(byteCount) != 0 }

  /// Whether a thread of this process may run in real time: one asks, and ends.
  package static func grantsRealTime() throws(ReactorError) -> Bool {
    let isGranted = Guarded(false)
    let thread = try startThread(named: "earshot-ask") {
      isGranted.withLock { $0 = earshot_thread_go_real_time(1) == 0 }
    }
    thread.join()
    return isGranted.withLock { $0 }
  }

  /// "Linux 6.1.0".
  package static var kernel: String {
    var bytes = [CChar](repeating: 0, count: 256)
    unsafe earshot_kernel_version(&bytes, bytes.count)
    return String(
      decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private static func limit(_ value: UInt64) -> UInt64? { value == .max ? nil : value }
}

extension UDPSocket {
  /// Bytes of datagrams that the kernel holds for us, each way; less than was asked for where
  /// `net.core.rmem_max` and `wmem_max` are lower. `nil` = not told.
  package borrowing func grantedBuffers() -> (receive: Int?, send: Int?) {
    let receive = earshot_udp_receive_buffer(descriptor.number)
    let send = earshot_udp_send_buffer(descriptor.number)
    return (receive < 0 ? nil : Int(receive), send < 0 ? nil : Int(send))
  }
}
