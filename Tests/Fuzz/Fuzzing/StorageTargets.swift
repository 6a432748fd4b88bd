import Cryptography
import Glibc
import MediaFiles
import Primitives
import SecureSession
import Storage
import Synchronization

extension FuzzTarget {
  static let storage: [FuzzTarget] = [
    identity, knownPeers, receipts, backup, backupContents, capture,
  ]

  /// The stored form of an identity, with the sum made right: otherwise it would stop every change
  /// at the door.
  private static let identity = FuzzTarget(
    "identity", maximumByteCount: 160,
    seeds: {
      var random = RandomSource(seed: 1)
      var identity = LocalIdentity(kind: .peer, unixSeconds: 1000, random: &random)
      let fresh = stored(identity)
      _ = identity.rotateIfDue(unixSeconds: 1000 + 8 * 86_400, random: &random)
      return [fresh, stored(identity)]
    },
    run: { bytes in
      var bytes = bytes
      if bytes.count > 16 {
        var hash = BLAKE2b(byteCount: 16)
        hash.update(Array(bytes.dropLast(16)).span)
        let sum = hash.finalize16().bytes
        bytes.replaceSubrange((bytes.count - 16)..., with: sum)
      }
      guard let identity = try? LocalIdentity(stored: bytes.span) else { return }
      let written = stored(identity)
      guard let again = try? LocalIdentity(stored: written.span) else {
        return expect(false, "what was written can be read")
      }
      expect(again.id == identity.id, "an identity keeps its ID")
      expect(stored(again) == written, "an identity survives being written")
    })

  private static func stored(_ identity: borrowing LocalIdentity) -> [UInt8] {
    let blob = identity.stored()
    return (0..<blob.span.count).map { blob.span[$0] }
  }

  private static let receipts = FuzzTarget(
    "receipts-file",
    seeds: {
      let id = String(repeating: "y", count: 52)
      return [Array("earshot receipts 1\n\(id) bob yyyybry\n\(id) eve yy\n".utf8)]
    },
    run: { bytes in
      let file = ReceiptsFile(besideIdentity: "")
      guard let receipts = try? file.parse(summed(bytes)) else { return }
      expect(receipts.count <= ReceiptsFile.limit, "a file cannot exceed the limit")
      expect(Set(receipts).count == receipts.count, "a service has one receipt for a name")
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
      let nameless = text.replacing("peers 1", with: "peers 2") + "id - \(id) pinned 3 4 yyyy\n"
      return [Array(text.utf8), Array(nameless.utf8)]
    },
    run: { bytes in
      guard let peers = try? PinFile(path: "").parse(summed(bytes), from: "") else { return }
      expect(peers.count <= KnownPeers.limit, "a file cannot exceed the limit")
      expect(peers.namelessCount <= KnownPeers.namelessLimit, "nor that of those without a name")
    })

  /// A file that somebody gives to `earshot restore`, with the sum made right and the least cost.
  private static let backup = FuzzTarget(
    "backup-file", maximumByteCount: 400,
    seeds: {
      let header = Array("earshot backup 1\n".utf8) + [0, 0, 0, 1, 0, 0, 0, 8]
      return [header + [UInt8](repeating: 7, count: 40 + 64)]
    },
    run: { bytes in
      var bytes = bytes
      // Argon2id is known to take its time.
      let cost: [UInt8] = [0, 0, 0, 1, 0, 0, 0, 8]
      if bytes.count >= 25, bytes[17..<25] != cost[...] {
        bytes.replaceSubrange(17..<25, with: cost)
      }
      var hash = BLAKE2b(byteCount: 16)
      hash.update(bytes.span)
      let file = bytes + hash.finalize16().bytes
      guard
        case .backup? = try? IdentityBackup.open(
          file, passphrase: Array("passphrase".utf8), path: "")
      else { return }
      expect(false, "nobody can seal without the passphrase")
    })

  /// What is sealed in it, as whoever knows the passphrase may have written it.
  private static let backupContents = FuzzTarget(
    "backup-contents", maximumByteCount: 800,
    seeds: {
      var random = RandomSource(seed: 1)
      let identity = stored(LocalIdentity(kind: .peer, unixSeconds: 1000, random: &random))
      return [[0, 0, 0, UInt8(truncatingIfNeeded: identity.count)] + identity]
    },
    run: { bytes in
      guard let backup = try? IdentityBackup(unsealed: bytes, from: "") else { return }
      expect(
        backup.identity.count + backup.pins.count == bytes.count - 4, "nothing is made up or left")
    })

  /// A pcapng file, as `earshot inspect` is given one by anybody.
  private static let capture = FuzzTarget(
    "capture-file", maximumByteCount: 3000, seeds: { captureSeeds },
    run: { bytes in
      withFile("capture", bytes) { path in
        guard var reader = try? PCAPNGReader(path) else { return }
        var count = 0
        while let datagram = try? reader.next() {
          count += 1
          expect(datagram.payload.count <= bytes.count, "a payload is in the file")
          if let rtp = RTPMapping.parse(datagram.payload.span) {
            expect(rtp.payloadStart <= datagram.payload.count, "RTP's payload is in the packet")
          }
          if let video = VP8Descriptor.parse(datagram.payload.span) {
            expect(video.start <= datagram.payload.count, "the frame begins in the packet")
          }
        }
        expect(count <= bytes.count, "every datagram takes at least a byte")
      }
    })

  private static var captureSeeds: [[UInt8]] {
    let path = scratchName("seed", in: "/tmp")
    defer { _ = unsafe unlink(path) }
    let rtp = RTPMapping.audio(mediaStep: 7, sequenceNumber: 8, source: 9, isMarked: true)
    let pairs = [
      (SocketAddress(v4: 192, 0, 2, 1, port: 4000), SocketAddress(v4: 192, 0, 2, 2, port: 5000))
    ]
    guard var writer = try? PCAPNGWriter(path) else { return [] }
    for (source, destination) in pairs {
      for payload in [rtp.packet([1, 2, 3].span), [], Array(0..<90)] {
        try? writer.write(
          CapturedDatagram(
            time: 1_700_000_000_000_000_000, source: source, destination: destination,
            direction: .outbound, payload: payload))
      }
    }
    try? writer.close()
    guard let file = unsafe fopen(path, "r") else { return [] }
    defer { unsafe fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = unsafe bytes.withUnsafeMutableBytes { unsafe fread($0.baseAddress, 1, 4096, file) }
    return [Array(bytes.prefix(count))]
  }

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

  /// Another one each time: tests of one process run at the same time.
  private static func scratchName(_ name: String, in folder: String) -> String {
    let number = scratchCount.add(1, ordering: .relaxed).newValue
    return "\(folder)/earshot-fuzz-\(name)-\(getpid())-\(number)"
  }

  private static let scratchCount = Atomic<Int>(0)

  /// Runs `body` with a private file of these bytes, in memory where the host has such a place.
  static func withFile(_ name: String, _ bytes: [UInt8], _ body: (String) -> Void) {
    let parent = unsafe access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
    let path = scratchName(name, in: parent)
    let number = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard number >= 0 else { return expect(false, "a scratch file can be made") }
    let written = unsafe bytes.withUnsafeBytes { unsafe write(number, $0.baseAddress, $0.count) }
    close(number)
    expect(written == bytes.count, "a scratch file can be written")
    body(path)
    _ = unsafe unlink(path)
  }
}
