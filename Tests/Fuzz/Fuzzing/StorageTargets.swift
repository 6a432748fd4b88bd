import Glibc
import Storage

extension FuzzTarget {
  static let storage: [FuzzTarget] = [identityFile, knownPeers]

  private static let identityText = """
    earshot identity 1
    # Whoever has this file is you.
    id yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy
    identity-key yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy
    device-key yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy 1700000000
    card-serial 3

    """

  private static let identityFile = FuzzTarget(
    "identity-file", seeds: { [Array(identityText.utf8)] },
    run: { bytes in
      withFile("identity", summed(bytes)) { path in
        let file = IdentityFile(path: path)
        guard let identity = try? file.read() else { return }
        expect(identity.seed.count == 32, "a key has 32 bytes")
        guard (try? file.replace(with: identity)) != nil, let again = try? file.read() else {
          return expect(false, "what was read can be written, and read again")
        }
        expect(again == identity, "an identity survives being written")
      }
    })

  private static let knownPeers = FuzzTarget(
    "known-peers-file",
    seeds: {
      let id = String(repeating: "y", count: 52)
      let text = """
        earshot known-peers 1
        name bob \(id) pinned 1 2 -
        rendezvous 192.0.2.1:7400 \(id) verified 1 2 yyyy

        """
      return [Array(text.utf8)]
    },
    run: { bytes in
      withFile("known-peers", summed(bytes)) { path in
        let file = PinFile(path: path)
        guard let peers = try? file.read() else { return }
        expect(peers.count <= KnownPeers.limit, "a file cannot exceed the limit")
      }
    })

  /// The input with the last line that makes it whole: otherwise the sum would stop every other
  /// change at the door. An input that ends without a line feed stays as it is.
  private static func summed(_ bytes: [UInt8]) -> [UInt8] {
    guard bytes.last == UInt8(ascii: "\n") else { return bytes }
    let text = String(decoding: bytes, as: UTF8.self)
    let sum = text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
      ($0 ^ UInt64($1)) &* 0x100_0000_01B3
    }
    return Array((text + "end \(String(sum, radix: 16))\n").utf8)
  }

  /// Runs `body` with a private file of these bytes, in memory where the host has such a place.
  private static func withFile(_ name: String, _ bytes: [UInt8], _ body: (String) -> Void) {
    let parent = unsafe access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
    let path = "\(parent)/earshot-fuzz-\(name)-\(getpid())"
    let number = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard number >= 0 else { return expect(false, "a scratch file can be made") }
    let written = unsafe bytes.withUnsafeBytes { unsafe write(number, $0.baseAddress, $0.count) }
    close(number)
    expect(written == bytes.count, "a scratch file can be written")
    body(path)
    _ = unsafe unlink(path)
  }
}
