import Primitives
import Testing
import Wire

/// Every packet of docs/protocol/session.md §1, written, read, cut and changed.
@Suite struct SessionPacketTests {
  /// One well-formed packet of each kind, and how to read it.
  struct Sample: Sendable, CustomTestStringConvertible {
    let type: PacketType
    let bytes: [UInt8]
    let parse: @Sendable ([UInt8]) throws(WireError) -> Void
    /// Bytes whose value the reader does not look at: keys, tokens, nonces, sealed parts.
    let opaque: [Range<Int>]

    var testDescription: String { "\(type)" }
  }

  static let samples: [Sample] = [
    Sample(
      type: .initiation, bytes: initiation(),
      parse: { (bytes) throws(WireError) in
        var reader = ByteReader(bytes.span)
        _ = try InitPacket(parsing: &reader)
      }, opaque: [1..<1200]),
    Sample(
      type: .response, bytes: response(),
      parse: { (bytes) throws(WireError) in
        var reader = ByteReader(bytes.span)
        _ = try ResponsePacket(parsing: &reader)
      }, opaque: [3..<184]),
    Sample(
      type: .cookie, bytes: cookie(),
      parse: { (bytes) throws(WireError) in
        var reader = ByteReader(bytes.span)
        _ = try CookiePacket(parsing: &reader)
      }, opaque: [3..<64]),
    Sample(
      type: .reset, bytes: reset(),
      parse: { (bytes) throws(WireError) in
        var reader = ByteReader(bytes.span)
        _ = try ResetPacket(parsing: &reader)
      }, opaque: [4..<40]),
    Sample(
      type: .version, bytes: version(),
      parse: { (bytes) throws(WireError) in
        var reader = ByteReader(bytes.span)
        _ = try VersionPacket(parsing: &reader)
      }, opaque: [1..<10]),
    Sample(
      type: .cardRequest, bytes: cardRequest(),
      parse: { (bytes) throws(WireError) in
        var reader = ByteReader(bytes.span)
        _ = try CardRequestPacket(parsing: &reader)
      }, opaque: [4..<12]),
    Sample(
      type: .card, bytes: card(),
      parse: { (bytes) throws(WireError) in
        var reader = ByteReader(bytes.span)
        _ = try CardPacket(parsing: &reader)
      }, opaque: [4..<12, 20..<(14 + 321)]),
    Sample(
      type: .nodesRequest, bytes: nodesRequest(),
      parse: { (bytes) throws(WireError) in
        var reader = ByteReader(bytes.span)
        _ = try NodesRequestPacket(parsing: &reader)
      }, opaque: [4..<44]),
    Sample(
      type: .nodes, bytes: nodes(),
      parse: { (bytes) throws(WireError) in
        var reader = ByteReader(bytes.span)
        _ = try NodesPacket(parsing: &reader)
      }, opaque: [4..<12, 20..<1200]),
  ]

  @Test func `there is a sample of every packet`() {
    #expect(Self.samples.map(\.type) == PacketType.allCases)
  }

  @Test(arguments: samples) func `a well-formed packet is read`(sample: Sample) throws {
    try sample.parse(sample.bytes)
    #expect(Demultiplexer.classify(sample.bytes.span) == .control(sample.type))
  }

  @Test(arguments: samples) func `a cut or longer packet is refused`(sample: Sample) {
    for count in 0..<sample.bytes.count {
      #expect(throws: WireError.self) { try sample.parse(Array(sample.bytes.prefix(count))) }
    }
    #expect(throws: WireError.self) { try sample.parse(sample.bytes + [0]) }
  }

  @Test(arguments: samples)
  func `a changed byte outside the opaque parts is refused`(sample: Sample) {
    for index in sample.bytes.indices where !sample.opaque.contains(where: { $0 ~= index }) {
      for bit in 0..<8 {
        var changed = sample.bytes
        changed[index] ^= UInt8(1 << bit)
        #expect(throws: WireError.self, "bit \(bit) of byte \(index)") {
          try sample.parse(changed)
        }
      }
    }
  }

  @Test(arguments: samples) func `no reader traps on random bytes`(sample: Sample) {
    var random = RandomSource(seed: UInt64(sample.type.rawValue))
    for _ in 0..<2000 {
      var bytes = sample.bytes
      for _ in 0..<(1 + random.next() % 8) {
        bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
      }
      do throws(WireError) {
        try sample.parse(bytes)
      } catch {
        #expect(error.offset <= bytes.count)
      }
    }
  }

  @Test func `no answer is longer than what it answers`() {
    // docs/protocol/session.md §1: the factor by which an unproven address can be flooded.
    let answers: [(request: Int, answers: [Int])] = [
      (InitPacket.byteCount, [ResponsePacket.byteCount]),
      (InitPacket.byteCount, [CookiePacket.byteCount]),
      (InitPacket.byteCount, [VersionPacket.byteCount]),
      (CardRequestPacket.byteCount, [CardPacket.byteCounts.upperBound]),
      (NodesRequestPacket.byteCount, [NodesPacket.byteCounts.upperBound]),
      (41, [ResetPacket.byteCount]),
    ]
    for pair in answers { #expect(pair.answers.reduce(0, +) <= pair.request) }
    #expect(Double(ResponsePacket.byteCount) / Double(InitPacket.byteCount) <= 0.2)
  }

  // MARK: - Samples

  static func initiation() -> [UInt8] {
    InitPacket.unauthenticated(
      purpose: .register, connectionID: ConnectionID(rawValue: 0x0403_0201),
      noiseMessage: Array(repeating: 0xAA, count: 1160)) + Array(repeating: 0xBB, count: 16)
      + Array(repeating: 0xCC, count: 16)
  }

  static func nodesRequest() -> [UInt8] {
    var bytes: [UInt8] = []
    NodesRequestPacket(nonce: 77, root: NodeListTests.usual().root).write(to: &bytes)
    return bytes
  }

  static func nodes() -> [UInt8] {
    var bytes: [UInt8] = []
    NodesPacket(nonce: 77, list: NodeListTests.usual()).write(to: &bytes)
    return bytes
  }

  static func response() -> [UInt8] {
    var bytes = ResponsePacket.unauthenticated(
      purpose: .register, responder: ConnectionID(rawValue: 0x0807_0605),
      initiator: ConnectionID(rawValue: 0x0403_0201),
      noiseMessage: Array(repeating: 0xAA, count: 156))
    ResponsePacket.complete(&bytes, mac1: Bytes16(InlineArray(repeating: 0xBB)))
    return bytes
  }

  static func cookie() -> [UInt8] {
    var bytes: [UInt8] = []
    CookiePacket(
      initiator: ConnectionID(rawValue: 1), nonce: Array(repeating: 2, count: 24),
      sealedCookie: Array(repeating: 3, count: 32)
    ).write(to: &bytes, purpose: 1)
    return bytes
  }

  static func reset() -> [UInt8] {
    var bytes: [UInt8] = []
    ResetPacket(
      answered: ConnectionID(rawValue: 1), token: Bytes16(InlineArray(repeating: 2)),
      padding: Bytes16(InlineArray(repeating: 3))
    ).write(to: &bytes)
    return bytes
  }

  static func version() -> [UInt8] {
    var bytes: [UInt8] = []
    VersionPacket(initiator: ConnectionID(rawValue: 1)).write(to: &bytes)
    return bytes
  }

  static func cardRequest() -> [UInt8] {
    var bytes: [UInt8] = []
    CardRequestPacket(nonce: 0x0102_0304_0506_0708).write(to: &bytes)
    return bytes
  }

  static func card() -> [UInt8] {
    var bytes: [UInt8] = []
    CardPacket(nonce: 9, card: ContactCardTests.largest()).write(to: &bytes)
    return bytes
  }
}

@Suite struct SessionLayoutTests {
  @Test func `fields of INIT stand where the table says`() throws {
    let bytes = SessionPacketTests.initiation()
    #expect(bytes.count == 1200)
    #expect(Array(bytes[0..<8]) == [0xC1, 1, 1, 1, 1, 2, 3, 4])
    #expect(Array(bytes[InitPacket.noiseRange]) == Array(repeating: 0xAA, count: 1160))
    var reader = ByteReader(bytes.span)
    let packet = try InitPacket(parsing: &reader)
    #expect(packet.connectionID.rawValue == 0x0403_0201 && packet.isOurVersion)
    #expect(packet.mac1.bytes == Array(repeating: 0xBB, count: 16))
    #expect(packet.mac2.bytes == Array(repeating: 0xCC, count: 16))
  }

  @Test func `an INIT of another version is read as far as all versions agree`() throws {
    var bytes = SessionPacketTests.initiation()
    bytes[1] = 9
    var reader = ByteReader(bytes.span)
    let packet = try InitPacket(parsing: &reader)
    #expect(!packet.isOurVersion && packet.connectionID.rawValue == 0x0403_0201)
  }

  @Test func `the payload of RESP is 108 bytes, its fields where the table says`() throws {
    let payload = ResponsePayload(
      responder: ConnectionID(rawValue: 0x0403_0201), initiator: ConnectionID(rawValue: 5),
      seenAddress: SocketAddress(v4: 192, 0, 2, 1, port: 7400),
      terms: SessionTerms(
        serverTime: 0x1112_1314_1516_1718, boot: 42,
        resetToken: Bytes16(InlineArray(repeating: 0xEE)), status: .nameTaken))
    var bytes: [UInt8] = []
    payload.write(to: &bytes)
    #expect(bytes.count == ResponsePayload.byteCount)
    #expect(Array(bytes[0..<4]) == [1, 2, 3, 4] && bytes[8] == 0x18 && bytes[16] == 42)
    #expect(Array(bytes[24..<29]) == [4, 192, 0, 2, 1])
    #expect(Array(bytes[43..<49]) == [0x10, 0x0E, 0, 0, 20, 0])
    #expect(Array(bytes[49..<65]) == Array(repeating: 0xEE, count: 16) && bytes[65] == 2)
    var reader = ByteReader(bytes.span)
    #expect(try ResponsePayload(parsing: &reader) == payload)
    // How long the token lasts may be any number; two flags follow.
    for index in 66..<108 where !(75..<81).contains(index) {
      var changed = bytes
      changed[index] = 1
      #expect(throws: WireError.self) {
        var reader = ByteReader(changed.span)
        _ = try ResponsePayload(parsing: &reader)
      }
    }
    for count in 0..<bytes.count {
      #expect(throws: WireError.self) {
        var reader = ByteReader(bytes.span.extracting(0..<count))
        _ = try ResponsePayload(parsing: &reader)
      }
    }
  }

  @Test func `RESP says that only an audience is told, in one byte, and never with a refusal`() {
    func read(_ status: RegistrationStatus, _ flag: UInt8) -> Bool? {
      var bytes: [UInt8] = []
      ResponsePayload(
        responder: ConnectionID(rawValue: 1), initiator: ConnectionID(rawValue: 5),
        seenAddress: SocketAddress(v4: 192, 0, 2, 1, port: 7400),
        terms: SessionTerms(
          serverTime: 1, boot: 42, resetToken: Bytes16(InlineArray(repeating: 0xEE)),
          status: status, isForAudience: flag == 1)
      ).write(to: &bytes)
      if flag > 1 { bytes[79] = flag }
      var reader = ByteReader(bytes.span)
      return (try? ResponsePayload(parsing: &reader))?.isForAudience
    }
    #expect(read(.nameGranted, 0) == false && read(.nameGranted, 1) == true)
    #expect(read(.nameGranted, 2) == nil && read(.nameGranted, 255) == nil)
    #expect(read(.notAllowed, 0) == false && read(.notAllowed, 1) == nil)
  }

  @Test func `RESP tells of the access token what fits its status`() throws {
    func read(_ status: RegistrationStatus, _ fault: TokenFault?, _ life: UInt32) -> TokenFault?? {
      let payload = ResponsePayload(
        responder: ConnectionID(rawValue: 1), initiator: ConnectionID(rawValue: 5),
        seenAddress: SocketAddress(v4: 192, 0, 2, 1, port: 7400),
        terms: SessionTerms(
          serverTime: 1, boot: 42, resetToken: Bytes16(InlineArray(repeating: 0xEE)),
          status: status, tokenFault: fault, tokenLife: life))
      var bytes: [UInt8] = []
      payload.write(to: &bytes)
      var reader = ByteReader(bytes.span)
      guard let found = try? ResponsePayload(parsing: &reader), found == payload else { return nil }
      return .some(found.tokenFault)
    }
    for fault in TokenFault.allCases {
      #expect(read(.tokenRefused, fault, 0) == .some(fault))
      #expect(read(.tokenRefused, fault, 1) == nil)
      #expect(read(.tokenNeeded, fault, 0) == nil && read(.nameGranted, fault, 0) == nil)
    }
    #expect(read(.tokenRefused, nil, 0) == nil && read(.tokenNeeded, nil, 0) == .some(nil))
    #expect(read(.nameGranted, nil, .max) == .some(nil) && read(.tokenNeeded, nil, 1) == nil)
  }

  @Test func `the payload of INIT is 1064 bytes whatever it holds`() throws {
    let token = Array(repeating: UInt8(7), count: InitPayload.maximumTokenByteCount)
    let name = try #require(PeerName(String(repeating: "n", count: 63)))
    let card = ContactCardTests.largest()
    let time = TAI64N(unixMilliseconds: 1_790_000_000_123)
    for payload in [
      InitPayload(time: time, card: card), InitPayload(time: time, card: card, loudest: 64),
      InitPayload(time: time, card: card, name: name, token: token, abilities: .senderNames),
    ] {
      var bytes: [UInt8] = []
      payload.write(to: &bytes)
      #expect(bytes.count == 1064)
      var reader = ByteReader(bytes.span)
      let read = try InitPayload(parsing: &reader)
      #expect(read.time == time && read.card == card)
      #expect(read.name == payload.name && read.token == payload.token)
      #expect(read.abilities == payload.abilities && read.loudest == payload.loudest)
      for count in 0..<bytes.count {
        #expect(throws: WireError.self) {
          var reader = ByteReader(bytes.span.extracting(0..<count))
          _ = try InitPayload(parsing: &reader)
        }
      }
    }
  }

  @Test func `TAI64N is big-endian, and sorts by time`() throws {
    // <https://cr.yp.to/libtai/tai64.html>: 1970 began at 2^62 + 10 s.
    var bytes: [UInt8] = []
    TAI64N(unixMilliseconds: 1500).write(to: &bytes)
    #expect(bytes == [0x40, 0, 0, 0, 0, 0, 0, 11, 0x1D, 0xCD, 0x65, 0])
    let times = [0, 1, 999, 1000, 1001, 1_790_000_000_000, 1_790_000_000_001]
      .map { TAI64N(unixMilliseconds: $0) }
    #expect(times == times.sorted() && Set(times).count == times.count)
    for time in times { #expect(time < time.successor) }
    let last = TAI64N(unixMilliseconds: 999)
    #expect(
      (0..<1_000_000).reduce(last) { time, _ in time.successor } == TAI64N(unixMilliseconds: 1000))
    for time in times {
      var bytes: [UInt8] = []
      time.write(to: &bytes)
      var reader = ByteReader(bytes.span)
      #expect(try TAI64N(parsing: &reader) == time)
    }
  }
}

@Suite struct DemultiplexerTests {
  @Test func `every first byte and length has one reading`() {
    let lengths = [0, 1, 13, 16, 24, 25, 40, 64, 200, 207, 208, 335, 336, 512, 1199, 1200, 1201]
    for first in UInt8.min...UInt8.max {
      for length in lengths where length > 0 {
        var bytes = Array(repeating: UInt8(0x11), count: length)
        bytes[0] = first
        #expect(
          Demultiplexer.classify(bytes.span) == Self.expected(first, length),
          "first byte \(first), \(length) bytes")
      }
    }
    #expect(Demultiplexer.classify([UInt8]().span) == .foreign)
  }

  @Test func `the connection ID of a sealed packet is in bytes 1 to 4`() {
    var bytes = Array(repeating: UInt8(0), count: 25)
    bytes.replaceSubrange(0..<5, with: [0x7F, 1, 2, 3, 4])
    #expect(Demultiplexer.classify(bytes.span) == .sealed(ConnectionID(rawValue: 0x0403_0201)))
    #expect(SealedPacket.connectionID(of: Array(bytes.prefix(24)).span) == .none)
  }

  /// The table of docs/protocol/session.md §1.
  private static func expected(_ first: UInt8, _ length: Int) -> Demultiplexer.Verdict {
    switch (first, length) {
    case (0x60...0x7F, 25...1200): .sealed(ConnectionID(rawValue: 0x1111_1111))
    case (0xC1, 1200): .control(.initiation)
    case (0xC2, 200): .control(.response)
    case (0xC3, 64): .control(.cookie)
    case (0xC4, 40): .control(.reset)
    case (0xC5, 16): .control(.version)
    case (0xC6, 512): .control(.cardRequest)
    case (0xC7, 208...335): .control(.card)
    case (0xCA, 1200): .control(.nodesRequest)
    case (0xCB, 194...1200): .control(.nodes)
    default: .foreign
    }
  }
}
