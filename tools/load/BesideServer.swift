import Arguments
import Cryptography
import Glibc
import Primitives
import Wire

/// The C program that only answers look-ups (Benchmarks/LookUpC/lookups.c), with the same clients
/// under keys of their own, on the same core as the rendezvous.
final class BesideServer {
  let process: ServerProcess
  let clients: [LoadClient]
  private let path: String

  /// - Parameter cardByteCount: what its answers carry, as those of the rendezvous do.
  init(
    _ program: String, _ clients: [LoadClient], cardByteCount: Int, random: inout RandomSource
  ) throws(UsageError) {
    path = "/tmp/earshot-beside-\(getpid())"
    var bytes: [UInt8] = []
    bytes.append(littleEndian: UInt32(clamping: clients.count))
    bytes.append(littleEndian: UInt32(clamping: cardByteCount))
    var keyed: [LoadClient] = []
    for (index, client) in clients.enumerated() {
      bytes.append(contentsOf: client.id.bytes)
      client.connection.write(to: &bytes)
      let send = Self.keys(&bytes, &random)
      let receive = Self.keys(&bytes, &random)
      // Its connection IDs count from 1.
      let remote = ConnectionID(rawValue: UInt32(clamping: index + 1))
      keyed.append(LoadClient(client, remote: remote, sendKeys: send, receiveKeys: receive))
    }
    self.clients = keyed
    try Self.write(bytes, to: path)
    process = try ServerProcess([program, path], core: 0)
  }

  /// Tells it to stop; its exit code.
  func stop() -> Int32 {
    _ = unsafe remove(path)
    return process.stop()
  }

  /// Keys of one direction, which `bytes` gets as well.
  private static func keys(_ bytes: inout [UInt8], _ random: inout RandomSource) -> PacketKeys {
    let aead = SecretKey(random: &random)
    let header = SecretKey(random: &random)
    for index in 0..<SecretKey.byteCount { bytes.append(aead.span[index]) }
    for index in 0..<SecretKey.byteCount { bytes.append(header.span[index]) }
    return PacketKeys(aead: aead, header: header)
  }

  private static func write(_ bytes: [UInt8], to path: String) throws(UsageError) {
    let number = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    guard number >= 0 else { throw UsageError("cannot write \(path)") }
    defer { close(number) }
    var done = 0
    while done < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { buffer in
        unsafe Glibc.write(number, buffer.baseAddress.map { unsafe $0 + done }, bytes.count - done)
      }
      guard count > 0 else { throw UsageError("cannot write \(path)") }
      done += count
    }
  }
}
