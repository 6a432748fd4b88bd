import Foundation
import Primitives
import Testing

@testable import MediaFiles

struct CaptureTests {
  static let alice = SocketAddress(v4: 192, 0, 2, 1, port: 40_000)
  static let bob = SocketAddress(v4: 198, 51, 100, 7, port: 7400)
  static let carol = SocketAddress(
    family: .v6, high: 0x2001_0DB8_0000_0000, low: 0x0000_0000_0000_0001, port: 40_002)
  static let dave = SocketAddress(
    family: .v6, high: 0x2001_0DB8_0000_0000, low: 0x0000_0000_0000_0002, port: 7400)

  static func datagrams() -> [CapturedDatagram] {
    (0..<50).map { number in
      let mapping = RTPMapping.audio(
        mediaStep: UInt32(2 * number), sequenceNumber: UInt16(number), source: 0xEA25_0001)
      let payload = [UInt8](repeating: UInt8(number), count: 80 + number % 3)
      return CapturedDatagram(
        time: 1_700_000_000_123_456_789 + UInt64(number) * 20_000_000,
        source: number % 2 == 0 ? alice : carol, destination: number % 2 == 0 ? bob : dave,
        direction: number % 3 == 0 ? .inbound : .outbound, payload: mapping.packet(payload.span))
    }
  }

  static func write(_ datagrams: [CapturedDatagram], to path: String) throws {
    var writer = try PCAPNGWriter(path)
    for datagram in datagrams { try writer.write(datagram) }
    try writer.close()
  }

  static func readAll(_ path: String) throws(MediaFileError) -> [CapturedDatagram] {
    var reader = try PCAPNGReader(path)
    var datagrams: [CapturedDatagram] = []
    while let datagram = try reader.next() { datagrams.append(datagram) }
    return datagrams
  }

  @Test func `reads back what it wrote`() throws {
    let folder = try TemporaryFolder()
    try Self.write(Self.datagrams(), to: folder.file("call.pcapng"))
    #expect(try Self.readAll(folder.file("call.pcapng")) == Self.datagrams())
  }

  @Test func `keeps the family of neither where two meet`() throws {
    let folder = try TemporaryFolder()
    let mixed = CapturedDatagram(
      time: 1, source: Self.alice, destination: Self.dave, payload: [1, 2, 3])
    try Self.write([mixed], to: folder.file("mixed.pcapng"))
    let read = try #require(try Self.readAll(folder.file("mixed.pcapng")).first)
    #expect(read.source.low == 0x0000_FFFF_C000_0201 && read.destination == Self.dave)
  }

  /// The header of RFC 1071's worked example family: 0x45... from a well-known capture.
  @Test func `sums as internet checksums do`() {
    let header: [UInt8] = [
      0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x00, 0x00, 0xC0, 0xA8, 0x00,
      0x01, 0xC0, 0xA8, 0x00, 0xC7,
    ]
    #expect(InternetPacket.checksum(header[...], seed: 0) == 0xB861)
  }

  @Test func `maps an audio frame to RTP and back`() throws {
    let mapping = RTPMapping.audio(
      mediaStep: 0xFFFF_FFFF, sequenceNumber: 65_535, source: 7, isMarked: true)
    let payload: [UInt8] = [9, 8, 7]
    let packet = mapping.packet(payload.span)
    #expect(packet.prefix(4) == [0x80, 0xEF, 0xFF, 0xFF])
    let read = RTPMapping.parse(packet.span)
    let parsed = try #require(read)
    #expect(parsed.header == mapping && parsed.payloadStart == 12)
    #expect(parsed.header.timestamp == 0 &- 480)
    for length in 0..<12 {
      let short = Array(packet.prefix(length))
      let refused = RTPMapping.parse(short.span)
      #expect(refused == nil)
    }
  }

  @Test func `writes requests as RTCP`() {
    // Seventeen numbers go in an entry, over the wrap; the eighteenth does not, nor one twice.
    let numbers: [UInt16] = [0xFFFF, 0, 15, 15, 16, 40]
    #expect(
      RTCPFeedback.nack(sender: 1, media: 2, sequenceNumbers: numbers) == [
        0x81, 205, 0, 5, 0, 0, 0, 1, 0, 0, 0, 2, 0xFF, 0xFF, 0x80, 1, 0, 16, 0, 0, 0, 40, 0, 0,
      ])
    #expect(
      RTCPFeedback.pictureLoss(sender: 1, media: 2) == [0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2])
  }

  @Test func `writes reports as RTCP, in whole words, with a name`() {
    let report = RTCPReport(
      source: 0x0102_0304, name: "here",
      sent: RTCPReport.Sent(
        wallNanoseconds: 1_500_000_000, timestamp: 0x0A0B_0C0D, packetCount: 5, byteCount: 400))
    #expect(
      report.packet == [
        0x80, 200, 0, 6, 1, 2, 3, 4, 0x83, 0xAA, 0x7E, 0x81, 0x80, 0, 0, 0, 0x0A, 0x0B, 0x0C, 0x0D,
        0, 0, 0, 5, 0, 0, 1, 0x90, 0x81, 202, 0, 3, 1, 2, 3, 4, 1, 4, 0x68, 0x65, 0x72, 0x65, 0, 0,
      ])
    var block = RTCPReport.Received(
      source: 9, fractionLost: 2, lost: -1, highestSequence: 0x1_0007, jitter: 3)
    block.delay = 65_536
    let answer = RTCPReport(source: 8, name: "", received: block).packet
    #expect(
      answer == [
        0x81, 201, 0, 7, 0, 0, 0, 8, 0, 0, 0, 9, 255, 255, 255, 255, 0, 1, 0, 7, 0, 0, 0, 3, 0, 0,
        0, 0, 0, 1, 0, 0, 0x81, 202, 0, 2, 0, 0, 0, 8, 1, 0, 0, 0,
      ])
    // RTP and RTCP share a port (RFC 5761 §4): neither reads as the other.
    #expect(RTPMapping.parse(answer.span) == nil)
    #expect(
      RTCPReport.middle(of: RTCPReport.networkTime(wallNanoseconds: 1_500_000_000)) == 0x7E81_8000)
  }

  @Test func `ends before a block that was cut off`() throws {
    let folder = try TemporaryFolder()
    try Self.write(Self.datagrams(), to: folder.file("whole.pcapng"))
    let whole = try folder.bytes(of: "whole.pcapng")
    let cut = try folder.write(Array(whole.dropLast(70)), to: "cut.pcapng")
    #expect(try Self.readAll(cut) == Array(Self.datagrams().dropLast()))
  }

  @Test func `names what is not a capture`() throws {
    let folder = try TemporaryFolder()
    let text = try folder.write(Array("hello, world: this is no capture".utf8), to: "text")
    let empty = try folder.write([], to: "empty")
    let cases: [(String, MediaFileError.Code)] = [
      (text, .notCapture), (empty, .notCapture), (folder.file("absent"), .missing),
    ]
    for (path, code) in cases {
      let error = #expect(throws: MediaFileError.self) { _ = try Self.readAll(path) }
      #expect(error?.code == code)
    }
  }

  /// Goal: no file makes the reader trap or take memory without bound.
  /// Method: 400 copies of a good file, each with a few bytes changed or cut.
  @Test func `survives scrambled captures`() throws {
    let seed: UInt64 = 4
    var random = RandomSource(seed: seed)
    let folder = try TemporaryFolder()
    try Self.write(Array(Self.datagrams().prefix(6)), to: folder.file("whole.pcapng"))
    let whole = try folder.bytes(of: "whole.pcapng")
    var refused = 0
    for _ in 0..<400 {
      var bytes = whole
      for _ in 0...(random.next() % 4) {
        bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
      }
      if random.next() % 4 == 0 { bytes.removeLast(Int(random.next() % 200)) }
      let path = try folder.write(bytes, to: "scrambled.pcapng")
      do throws(MediaFileError) {
        #expect(try Self.readAll(path).count <= 6)
      } catch {
        refused += 1
      }
    }
    #expect(refused > 0 && refused < 400, "EARSHOT_SEED=\(seed)")
  }

  @Test func `says when the disk is full`() throws {
    var writer = try PCAPNGWriter("/dev/full")
    try writer.write(try #require(Self.datagrams().first))
    do throws(MediaFileError) {
      try writer.close()
      Issue.record("a full disk went unnoticed")
    } catch {
      #expect(error.code == .cannotWrite)
      #expect(error.message.contains("No space left on device"))
    }
  }

  @Test(.enabled(if: Tshark.path != nil, "tshark is not installed"))
  func `is dissected as RTP without a complaint`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("call.pcapng")
    try Self.write(Self.datagrams(), to: path)
    let decode = ["-r", path, "-d", "udp.port==7400,rtp"]
    let checks = ["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]
    let fields = [
      "-e", "rtp.seq", "-e", "rtp.timestamp", "-e", "rtp.p_type", "-e", "frame.time_epoch",
    ]
    let lines = try Tshark.run(decode + ["-Y", "rtp", "-T", "fields"] + fields)
    #expect(lines.count == 50)
    #expect(
      lines.first?.hasPrefix("0\t0\t111\t1700000000.123456789") == true, "\(lines.first ?? "")")
    #expect(lines.last?.hasPrefix("49\t47040\t111\t") == true)
    let faults = "_ws.malformed || ip.checksum.status == 0 || udp.checksum.status == 0"
    #expect(try Tshark.run(decode + checks + ["-Y", faults]).isEmpty)
    #expect(try Tshark.run(decode + checks + ["-Y", "udp.checksum.status == 1"]).count == 50)
  }
}

/// Wireshark's command line, where it is installed.
enum Tshark {
  static let path = ["/usr/bin/tshark", "/usr/local/bin/tshark"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  /// - Returns: the lines of its standard output.
  static func run(_ arguments: [String]) throws -> [String] {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path ?? "")
    process.arguments = arguments
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return text.split(separator: "\n").map(String.init)
  }
}
