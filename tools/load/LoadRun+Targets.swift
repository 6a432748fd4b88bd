import Arguments
import Glibc
import Primitives
import Reactor
import Wire

/// Look-ups of clients that another run of this program has registered at another node.
extension LoadRun {
  /// Writes the IDs of the own clients, and reads those of others; none without `--targets`.
  func exchangeIDs() throws(UsageError) -> [PeerID] {
    if let path = options.ids { try Self.write(clients.flatMap(\.id.bytes), to: path) }
    guard let path = options.targets else { return [] }
    let end = SystemClock.now + .seconds(240)
    while unsafe access(path, R_OK) != 0 {
      guard SystemClock.now < end else { throw UsageError("nobody wrote \(path)") }
      receive { _ in }
    }
    let bytes = try Self.read(path)
    return stride(from: 0, to: bytes.count - 31, by: 32).compactMap {
      PeerID(Array(bytes[$0..<($0 + 32)]))
    }
  }

  /// Under another name first, so that nobody reads half of it.
  private static func write(_ bytes: [UInt8], to path: String) throws(UsageError) {
    let number = unsafe open(path + ".part", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    guard number >= 0 else { throw UsageError("cannot write \(path)") }
    let count = unsafe bytes.withUnsafeBytes {
      unsafe Glibc.write(number, $0.baseAddress, $0.count)
    }
    close(number)
    guard count == bytes.count, unsafe rename(path + ".part", path) == 0 else {
      throw UsageError("cannot write \(path)")
    }
  }

  private static func read(_ path: String) throws(UsageError) -> [UInt8] {
    let number = unsafe open(path, O_RDONLY)
    guard number >= 0 else { throw UsageError("cannot read \(path)") }
    defer { close(number) }
    var bytes = [UInt8](repeating: 0, count: 200_000 * 32)
    let count = unsafe bytes.withUnsafeMutableBytes {
      unsafe Glibc.read(number, $0.baseAddress, $0.count)
    }
    return Array(bytes.prefix(max(0, count)))
  }
}
