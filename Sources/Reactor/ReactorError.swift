internal import Glibc

/// The kernel refused something: which call, on what, and why.
package struct ReactorError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What was attempted: "bind", "resolve", "watch".
  package var action: String
  /// What it was attempted on, as a person would name it: an address, a host, a file.
  package var subject: String
  /// The kernel's reason (`EADDRINUSE` ...); 0 when the reason is only in `reason`.
  package var errno: Int32
  /// The reason in words.
  package var reason: String

  package init(_ action: String, _ subject: String, errno: Int32) {
    self.init(action, subject, errno: errno, reason: Self.text(of: errno))
  }

  package init(_ action: String, _ subject: String, errno: Int32 = 0, reason: String) {
    self.action = action
    self.subject = subject
    self.errno = errno
    self.reason = reason
  }

  package var description: String { "cannot \(action) \(subject): \(reason)" }

  /// Another program, or another socket of this one, has the port.
  package var isAddressInUse: Bool { errno == EADDRINUSE }
  /// The address does not belong to this host.
  package var isAddressUnavailable: Bool { errno == EADDRNOTAVAIL }
  /// A file that may not be replaced is there.
  package var isAlreadyThere: Bool { errno == EEXIST }
  /// A folder stands where a file was wanted.
  package var isFolder: Bool { errno == EISDIR }
  /// A pipe or a device stands where a plain file was wanted.
  package var isNoPlainFile: Bool { errno == EINVAL }
  /// Somebody else has it open, and to themselves.
  package var isWouldBlock: Bool { errno == EWOULDBLOCK }
  /// The reader of a pipe went away, or the stream was closed from the start.
  package var isWithoutReader: Bool { errno == EPIPE || errno == EBADF }
  /// The disk, or what this user may use of it, is full.
  package var isOutOfRoom: Bool { errno == ENOSPC || errno == EDQUOT }
  /// The file is as long as `ulimit -f` lets it be.
  package var isOverFileLimit: Bool { errno == EFBIG }
  package var isPermissionDenied: Bool { errno == EACCES || errno == EPERM }

  /// What to do where a port could not be opened at the address that `option` names.
  package func advice(on option: String) -> String {
    if isAddressInUse {
      return "Another program has the port: give another one with \(option), or find its holder "
        + "with ss -lunpt."
    }
    if isAddressUnavailable {
      return "The address is not this host's: `ip address` lists those that are. [::] with "
        + "\(option) is all of them."
    }
    if isPermissionDenied {
      return "Ports below 1024 need a privilege: give another one with \(option)."
    }
    return "Check \(option)."
  }

  private static func text(of errno: Int32) -> String {
    var buffer = [CChar](repeating: 0, count: 128)
    let count = buffer.count
    // GNU's strerror_r may answer with text of its own instead of filling the buffer; the POSIX
    // form, which Glibc's module shows, fills it.
    _ = unsafe buffer.withUnsafeMutableBufferPointer { room in
      unsafe room.baseAddress.map { unsafe strerror_r(errno, $0, count) }
    }
    let bytes = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return bytes.isEmpty ? "error \(errno)" : String(decoding: bytes, as: UTF8.self)
  }
}

extension Int32 {
  /// The value of a call of `CLinux`, whose failures are negated errnos.
  func orThrow(_ action: String, _ subject: @autoclosure () -> String) throws(ReactorError) -> Int32
  {
    guard self < 0 else { return self }
    throw ReactorError(action, subject(), errno: -self)
  }
}
