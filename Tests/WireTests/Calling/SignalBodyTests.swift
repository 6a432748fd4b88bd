import Primitives
import Testing

@testable import Wire

@Suite struct SignalBodyTests {
  static let callID = CallID(Array(0..<16))!
  static let mac = [UInt8](repeating: 0xAA, count: 16)

  /// One body of each type.
  static let samples: [SignalBody] = [
    SignalBody(
      callID,
      .invite(connectionID: 0x0403_0201, noiseMessage: [UInt8](repeating: 7, count: 192))),
    SignalBody(
      callID,
      .ringing(
        SealedRingDetails(
          isPrepared: true, nonce: [UInt8](repeating: 1, count: 24),
          sealed: [UInt8](repeating: 2, count: 43))), mac: mac),
    SignalBody(callID, .accept(noiseMessage: [UInt8](repeating: 3, count: 94))),
    SignalBody(callID, .reject(noiseMessage: [UInt8](repeating: 4, count: 98))),
    SignalBody(callID, .cancel(.userCancelled), mac: mac),
    SignalBody(callID, .timeout(.noAnswer), mac: mac),
    SignalBody(callID, .hangUp(.userHungUp, ReasonText(clipping: "tschüß")), mac: mac),
    SignalBody(callID, .receipt(of: .hangUp), mac: mac),
    SignalBody(callID, .unsupported(lowestVersion: 1, highestVersion: 3)),
    SignalBody(
      callID,
      .candidates(
        SealedCandidates(
          number: 0x0403_0201, nonce: [UInt8](repeating: 5, count: 24),
          sealed: [UInt8](repeating: 6, count: 39)))),
    SignalBody(
      callID, .cancel(.answeredElsewhere, presence: PresenceID(rawValue: 0x0102_0304)), mac: mac),
    SignalBody(callID, .receipt(of: .cancel, presence: PresenceID(rawValue: 9)), mac: mac),
    SignalBody(callID, .cancel(.userCancelled, words: words), mac: mac),
    SignalBody(callID, .hangUp(.userHungUp, ReasonText(clipping: "bye"), words: words), mac: mac),
  ]
  static let words = SealedWords(
    nonce: [UInt8](repeating: 8, count: 24), sealed: [UInt8](repeating: 9, count: 19))

  @Test func `user data stand between the fields and the MAC, and seal no field`() throws {
    let plain = SignalBody(Self.callID, .hangUp(.none, .empty), mac: Self.mac)
    var rich = plain
    rich.words = Self.words
    #expect(rich.headOfWords == [1, 7] + Self.callID.bytes)
    #expect(rich.bytes.count == plain.bytes.count + 24 + 2 + 19)
    #expect(try SignalBody(parsing: rich.bytes.span).words == Self.words)
    rich.words?.sealed = [UInt8](repeating: 9, count: 18)
    #expect(throws: WireError.self) { try SignalBody(parsing: rich.bytes.span) }
  }

  @Test(arguments: samples)
  func `reads what it wrote`(_ body: SignalBody) throws {
    #expect(try SignalBody(parsing: body.bytes.span) == body)
    #expect(body.bytes == body.bytesBeforeMAC + body.mac)
    #expect(body.type.hasMAC == !body.mac.isEmpty)
  }

  /// ACCEPT and REJECT end with a Noise message of any length, so only what is shorter than the
  /// shortest one is certain to be cut.
  @Test(arguments: samples)
  func `refuses a body that was cut anywhere`(_ body: SignalBody) {
    let bytes = body.bytes
    let certain =
      switch body.content {
      case .invite: 18 + 4 + 192
      case .accept, .reject: 18 + 94
      default: bytes.count
      }
    // Cut to where the user data begin but for what could be a MAC: only that tells.
    var plain = body
    plain.words = nil
    for count in 0..<certain where body.words == nil || count != plain.bytes.count {
      #expect(throws: WireError.self, "cut to \(count)") {
        try SignalBody(parsing: Array(bytes.prefix(count)).span)
      }
    }
  }

  @Test(arguments: samples)
  func `refuses a byte too many where the length is known`(_ body: SignalBody) {
    switch body.content {
    case .invite, .accept, .reject: return
    default: break
    }
    #expect(throws: WireError.self) { try SignalBody(parsing: (body.bytes + [0]).span) }
  }

  @Test func `lays the bytes out as the page says`() {
    let head: [UInt8] = [1, 5] + Array(0..<16)
    #expect(Self.samples[4].bytes == head + [6] + [UInt8](repeating: 0, count: 8) + Self.mac)
    #expect(
      Self.samples[6].bytes[18..<29] == [5, 8, 0x74, 0x73, 0x63, 0x68, 0xC3, 0xBC, 0xC3, 0x9F]
        + [0xAA])
    #expect(Array(Self.samples[0].bytes.prefix(22)) == [1, 1] + Array(0..<16) + [1, 2, 3, 4])
    #expect(Self.samples[7].bytes[18] == 7)
  }

  @Test func `refuses versions and types that it does not know, but still finds the call`() throws {
    for (index, value) in [(0, UInt8(0)), (0, 2), (1, 0), (1, 11), (1, 255)] {
      var bytes = Self.samples[4].bytes
      bytes[index] = value
      #expect(throws: WireError.self) { try SignalBody(parsing: bytes.span) }
      var reader = ByteReader(bytes.span)
      let header = try SignalHeader(parsing: &reader)
      #expect(header.callID == Self.callID)
    }
  }

  @Test func `keeps the limit of 4096 bytes`() throws {
    let most = SignalBody(
      Self.callID, .accept(noiseMessage: [UInt8](repeating: 0, count: 4096 - 18)))
    #expect(try SignalBody(parsing: most.bytes.span) == most)
    #expect(throws: WireError(.tooLong, "signal body", at: 4096)) {
      try SignalBody(parsing: (most.bytes + [0]).span)
    }
  }

  @Test func `refuses a receipt for what has no receipt`() {
    for type: UInt8 in [0, 1, 2, 8, 9, 10] {
      let bytes = [1, 8] + Self.callID.bytes + [type] + Self.mac
      #expect(throws: WireError.self, "type \(type)") { try SignalBody(parsing: bytes.span) }
    }
  }

  @Test func `refuses a text of 129 bytes and malformed text`() throws {
    func hangUp(_ text: [UInt8]) -> [UInt8] {
      [1, 7] + Self.callID.bytes + [5, UInt8(text.count)] + text + Self.mac
    }
    _ = try SignalBody(parsing: hangUp([UInt8](repeating: 0x61, count: 128)).span)
    #expect(throws: WireError.self) {
      try SignalBody(parsing: hangUp([UInt8](repeating: 0x61, count: 129)).span)
    }
    #expect(throws: WireError.self) { try SignalBody(parsing: hangUp([0xC3]).span) }
  }

  @Test func `refuses a zero connection ID, short ring details and an empty range of versions`() {
    let invite = [1, 1] + Self.callID.bytes + [0, 0, 0, 0] + [UInt8](repeating: 7, count: 192)
    let ringing =
      [1, 2] + Self.callID.bytes + [0] + [UInt8](repeating: 0, count: 24) + [19, 0]
      + [UInt8](repeating: 0, count: 19) + Self.mac
    let unsupported = [1, 9] + Self.callID.bytes + [3, 2]
    for bytes in [invite, ringing, unsupported] {
      #expect(throws: WireError.self) { try SignalBody(parsing: bytes.span) }
    }
  }

  @Test func `never ignores a hang-up for a reason that it does not know`() throws {
    let bytes = [1, 7] + Self.callID.bytes + [200, 0] + Self.mac
    #expect(try SignalBody(parsing: bytes.span).content == .hangUp(.none, .empty))
  }

  @Test func `seals ring details over everything before the nonce`() {
    let details = SealedRingDetails(isPrepared: true, nonce: [], sealed: [])
    #expect(details.associatedData(Self.callID) == [1, 2] + Self.callID.bytes + [1])
  }

  @Test func `seals candidates over everything before the nonce`() throws {
    let sealed = SealedCandidates(number: 0x0403_0201, nonce: [], sealed: [])
    #expect(sealed.associatedData(Self.callID) == [1, 10] + Self.callID.bytes + [1, 2, 3, 4])
    let list = CandidateList([
      Candidate(.host, SocketAddress(v4: 192, 0, 2, 1, port: 7400)),
      Candidate(.serverReflexive, SocketAddress(v4: 198, 51, 100, 1, port: 9)),
    ])
    let plain = SealedCandidates.plain(list)
    #expect(try SealedCandidates.candidates(in: plain.span) == list)
    #expect(throws: WireError.self) { try SealedCandidates.candidates(in: [UInt8]().span) }
    let short =
      [1, 10] + Self.callID.bytes + [1, 0, 0, 0] + [UInt8](repeating: 0, count: 24) + [38, 0]
      + [UInt8](repeating: 0, count: 38)
    #expect(throws: WireError.self) { try SignalBody(parsing: short.span) }
  }

  @Test(arguments: 0..<UInt64(2000))
  func `survives any bytes`(seed: UInt64) {
    var random = RandomSource(seed: seed)
    var bytes = Self.samples[Int(random.next() % 10)].bytes
    for _ in 0..<(1 + random.next() % 4) {
      bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
    }
    // What is read must be what is written again, but for flags and reasons that we do not know.
    if let body = try? SignalBody(parsing: bytes.span) {
      #expect(body.bytes.count == bytes.count, "seed \(seed)")
    }
  }
}
