internal import CLinux
internal import Primitives

/// Tells the service manager how the program is (`Type=notify` of systemd; sd_notify(3)).
///
/// Without `NOTIFY_SOCKET` in the environment nobody is told. A manager that does not listen is its
/// own affair: nothing waits for it, and nothing fails.
package struct ServiceNotice: Sendable {
  package enum State: Sendable {
    /// It serves.
    case ready
    /// It reads its files again; `ready` follows.
    case reloading
    /// It ends.
    case stopping
  }

  private let socket: String

  /// - Parameter socket: The path of a datagram socket; with `@` in front, an abstract name.
  package init?(socket: String? = ProcessSurroundings.variable("NOTIFY_SOCKET")) {
    guard let socket, socket.hasPrefix("/") || socket.hasPrefix("@") else { return nil }
    self.socket = socket
  }

  package func sendState(_ state: State) {
    let text =
      switch state {
      case .ready: "READY=1"
      case .reloading:
        "RELOADING=1\nMONOTONIC_USEC=\(SystemClock.now.nanoseconds / 1000)"
      case .stopping: "STOPPING=1"
      }
    unsafe earshot_notify(socket, text)
  }
}
