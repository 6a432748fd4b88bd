import Primitives
import Testing

@testable import Wire

@Suite struct CallPayloadsTests {
  static let callID = CallID(Array(16..<32))!
  static let host = Candidate(.host, SocketAddress(v4: 192, 168, 1, 2, port: 5000))
  static let seen = Candidate(.serverReflexive, SocketAddress(v4: 203, 0, 113, 9, port: 4000))
  static let offer = CallOffer(
    card: [UInt8](repeating: 9, count: 330), candidates: CandidateList([host, seen]),
    media: MediaDescription([.init(.opus, stream: 0, isStereo: true), .init(.vp8, stream: 1)]),
    userExtension: #"{"room":"küche"}"#, rejoinSeconds: 300)
  static let invite = InvitePayload(
    callID: callID, createdMilliseconds: 1_700_000_000_000,
    commitment: [UInt8](repeating: 1, count: 32), callKey: [UInt8](repeating: 2, count: 32),
    ringConnectionID: 77, ringTimeoutMilliseconds: 15_000, offer: offer)

  static func parseInvite(_ bytes: [UInt8]) throws(WireError) -> InvitePayload {
    var reader = ByteReader(bytes.span)
    return try InvitePayload(parsing: &reader)
  }

  static func parseAnswer(_ bytes: [UInt8]) throws(WireError) -> AnswerPayload {
    var reader = ByteReader(bytes.span)
    return try AnswerPayload(parsing: &reader)
  }

  @Test func `reads the invitation that it wrote, padded or not`() throws {
    let bytes = Self.invite.bytes
    #expect(try Self.parseInvite(bytes) == Self.invite)
    #expect(try Self.parseInvite(bytes + [UInt8](repeating: 0, count: 40)) == Self.invite)
    #expect(throws: WireError.self) { try Self.parseInvite(bytes + [0, 0, 1]) }
  }

  /// A cut between two TLVs leaves a well-formed list, so the seal is what protects it; every other
  /// cut is seen here.
  @Test func `refuses an invitation that was cut inside a field`() {
    let bytes = Self.invite.bytes
    let afterCard = InvitePayload.fixedByteCount + 3 + 330
    let afterExtension = bytes.count - 5
    let ends = [afterCard, afterCard + 43, afterCard + 43 + 9, afterExtension]
    for count in 0..<bytes.count where !ends.contains(count) {
      #expect(throws: WireError.self, "cut to \(count)") {
        try Self.parseInvite(Array(bytes.prefix(count)))
      }
    }
  }

  @Test func `refuses an invitation without a card or with a zero connection ID`() {
    var bare = Self.invite
    bare.offer.card = []
    #expect(throws: WireError.self) { try Self.parseInvite(bare.bytes) }
    var zero = Self.invite
    zero.ringConnectionID = 0
    #expect(throws: WireError.self) { try Self.parseInvite(zero.bytes) }
  }

  @Test(arguments: [UInt16(0), 1, 120, 3600, .max])
  func `says for how long the other side may be away`(seconds: UInt16) throws {
    var invite = Self.invite
    invite.offer.rejoinSeconds = seconds
    #expect(try Self.parseInvite(invite.bytes).offer.rejoinSeconds == seconds)
    #expect(invite.bytes.count == Self.invite.bytes.count - (seconds == 0 ? 5 : 0))
  }

  @Test(arguments: [[], [0], [0, 0], [1, 0, 0]] as [[UInt8]])
  func `refuses an absence of no seconds, or of another length`(value: [UInt8]) {
    var invite = Self.invite
    invite.offer.rejoinSeconds = 0
    let bytes = invite.bytes + [TLVType.rejoin.rawValue, UInt8(value.count), 0] + value
    #expect(throws: WireError.self) { try Self.parseInvite(bytes) }
  }

  @Test func `keeps the limits of card and extension`() {
    var offer = Self.offer
    offer.card.append(9)
    var invite = Self.invite
    invite.offer = offer
    #expect(throws: WireError.self) { try Self.parseInvite(invite.bytes) }
    invite.offer = Self.offer
    invite.offer.userExtension = String(repeating: "x", count: 1024)
    #expect(throws: Never.self) { try Self.parseInvite(invite.bytes) }
    invite.offer.userExtension = String(repeating: "x", count: 1025)
    #expect(throws: WireError.self) { try Self.parseInvite(invite.bytes) }
  }

  @Test(arguments: [
    AnswerPayload.Verdict.accepted(connectionID: 5),
    .rejected(.busy, ReasonText(clipping: "on the line")), .rejected(.declined, .empty),
  ])
  func `reads the answer that it wrote`(verdict: AnswerPayload.Verdict) throws {
    let answer = AnswerPayload(
      callID: Self.callID, verdict: verdict, presence: PresenceID(rawValue: 0x99),
      contribution: [UInt8](repeating: 3, count: 16), offer: Self.offer)
    #expect(try Self.parseAnswer(answer.bytes) == answer)
    for count in 0..<AnswerPayload.fixedByteCount {
      #expect(throws: WireError.self) { try Self.parseAnswer(Array(answer.bytes.prefix(count))) }
    }
  }

  @Test func `refuses a verdict that contradicts its connection ID`() {
    func answer(_ verdict: UInt8, _ connectionID: UInt8) -> [UInt8] {
      Self.callID.bytes + [verdict, 0, connectionID, 0, 0, 0] + [UInt8](repeating: 3, count: 24)
    }
    #expect(throws: Never.self) { try Self.parseAnswer(answer(1, 9)) }
    #expect(throws: Never.self) { try Self.parseAnswer(answer(2, 0)) }
    for (verdict, connectionID) in [(UInt8(1), UInt8(0)), (2, 9), (0, 0), (3, 9)] {
      #expect(throws: WireError.self) { try Self.parseAnswer(answer(verdict, connectionID)) }
    }
  }

  @Test func `keeps the limit of a reason's text`() {
    func answer(_ length: UInt8) -> [UInt8] {
      Self.callID.bytes + [2, 1, 0, 0, 0, 0] + [UInt8](repeating: 3, count: 24) + [7, length, 0]
        + [UInt8](repeating: 0x61, count: Int(length))
    }
    #expect(throws: Never.self) { try Self.parseAnswer(answer(128)) }
    #expect(throws: WireError.self) { try Self.parseAnswer(answer(129)) }
    #expect(ReasonText(clipping: String(repeating: "ü", count: 70)).description.utf8.count == 128)
    #expect(
      ReasonText(clipping: "a" + String(repeating: "ü", count: 70)).description.utf8.count == 127)
  }

  @Test func `reads ring details with and without candidates`() throws {
    for candidates in [CandidateList(), CandidateList([Self.host])] {
      let details = RingDetails(
        ringConnectionID: 3, presence: PresenceID(rawValue: 5), candidates: candidates)
      var reader = ByteReader(details.bytes.span)
      #expect(try RingDetails(parsing: &reader) == details)
      for count in 0..<details.bytes.count where count != 12 {
        #expect(throws: WireError.self) {
          let cut = Array(details.bytes.prefix(count))
          var reader = ByteReader(cut.span)
          _ = try RingDetails(parsing: &reader)
        }
      }
    }
  }

  @Test func `takes one to eight candidates of known kinds`() throws {
    let many = CandidateList([Candidate](repeating: Self.host, count: 9))
    #expect(many.candidates.count == 8)
    #expect(try CandidateList(parsing: many.bytes) == many)
    let bytes = CandidateList([Self.host]).bytes
    #expect(throws: WireError.self) { try CandidateList(parsing: []) }
    #expect(throws: WireError.self) { try CandidateList(parsing: many.bytes + bytes) }
    for count in 1..<20 {
      #expect(throws: WireError.self) { try CandidateList(parsing: Array(bytes.prefix(count))) }
    }
    for kind: UInt8 in [0, 4, 255] {
      #expect(throws: WireError.self) { try CandidateList(parsing: [kind] + bytes.dropFirst()) }
    }
  }

  @Test func `ignores codecs and flags that it does not know`() throws {
    let media = try MediaDescription(parsing: [1, 0, 0xFF, 99, 2, 0])
    #expect(media.entries[0] == .init(.opus, stream: 0, isStereo: true))
    let ours = MediaDescription([.init(.opus, stream: 0)])
    #expect(media.shares(.opus, with: ours))
    #expect(!media.shares(.vp8, with: ours))
    #expect(!MediaDescription().shares(.opus, with: ours))
    #expect(throws: WireError.self) { try MediaDescription(parsing: [1, 0]) }
    #expect(throws: WireError.self) {
      try MediaDescription(parsing: [UInt8](repeating: 1, count: 27))
    }
  }

  @Test(arguments: [
    CallControlMessage.confirm(opening: Array(0..<32)),
    .hangUp(.userHungUp, ReasonText(clipping: "bye")), .mediaState([.audio, .video]),
    .mediaWanted([.audio, .videoPaused]), .videoTest(0), .videoTest(209_000),
    .quality(sent: 0, received: 6), .music(true),
    .videoRotation(.threeQuarters, mediaTime: 0xFF_FFFF),
    .smallVideo(nil),
    .smallVideo(
      SmallVideo(width: 160, height: 120, framesPerSecond: 5, bitsPerSecond: 65_000)),
    CallControlMessage.channel(somePass(tokenByteCount: 1)),
    CallControlMessage.channel(somePass(tokenByteCount: 512)),
    .channelRemark(.declined), .channelRemark(.unanswered),
    .channelRemark(.guest(someone, PeerName("carol"))), .channelRemark(.wish(someone, nil)),
    .channelRemark(.entry(someone, token: Array(repeating: 0x76, count: 512))),
    .channelRemark(.refused(someone)), .channelRemark(.withdrawn(someone)),
    .channelRemark(.asked),
  ])
  func `reads the call control that it wrote`(message: CallControlMessage) throws {
    func parse(_ bytes: [UInt8]) throws(WireError) -> CallControlMessage {
      var reader = ByteReader(bytes.span)
      return try CallControlMessage(parsing: &reader)
    }
    let bytes = message.bytes
    #expect(try parse(bytes) == message)
    for count in bytes.indices {
      #expect(throws: WireError.self) { try parse(Array(bytes.prefix(count))) }
    }
    #expect(throws: WireError.self) { try parse(bytes + [0]) }
    #expect(throws: WireError.self) { try parse([12] + bytes.dropFirst()) }
  }

  @Test func `a hang-up with user data is read with and without them`() throws {
    let plain = CallControlMessage.hangUp(.userHungUp, ReasonText(clipping: "bye"))
    let rich = CallControlMessage.hangUp(
      .userHungUp, ReasonText(clipping: "bye"), userExtension: "{\"a\":1}")
    #expect(rich.bytes.starts(with: plain.bytes) && rich.bytes.count == plain.bytes.count + 10)
    var reader = ByteReader(rich.bytes.span)
    #expect(try CallControlMessage(parsing: &reader) == rich)
    for count in plain.bytes.count + 1..<rich.bytes.count {
      var cut = ByteReader(rich.bytes.span.extracting(first: count))
      #expect(throws: WireError.self) { try CallControlMessage(parsing: &cut) }
    }
  }

  @Test(
    arguments: [
      [6, 7, 0], [6, 0, 7], [7, 4, 0, 0, 0, 0], [7, 0, 0, 0, 0, 1], [9, 2],
      [8, 0, 0, 120, 0, 5, 1, 0, 0, 0], [8, 160, 0, 120, 0, 5, 0, 0, 0, 0],
    ] as [[UInt8]])
  func `refuses call control out of its ranges`(bytes: [UInt8]) {
    var reader = ByteReader(bytes.span)
    #expect(throws: WireError.self) { try CallControlMessage(parsing: &reader) }
  }

  @Test func `a remark about a channel without its ID, its name or its token is none`() {
    let id = [UInt8](repeating: 1, count: 32)
    let bad: [[UInt8]] = [
      [0], [9], [8, 0], [1, 0], [3] + id, [3] + id + [1, 0x20], [5] + id + [0, 0],
      [5] + id + [1, 2] + [UInt8](repeating: 7, count: 513),
    ]
    for bytes in bad {
      let bytes = [11] + bytes
      var reader = ByteReader(bytes.span)
      #expect(throws: WireError.self, "\(bytes.prefix(3))") {
        try CallControlMessage(parsing: &reader)
      }
    }
  }

  static let someone = PeerID(Bytes32(Array(1...32)) ?? .zero)

  /// A pass of which each byte is as it should be.
  static func somePass(tokenByteCount count: Int) -> ChannelPass {
    guard let key = Bytes32(Array(1...32)), let name = PeerName("call"),
      let pass = ChannelPass(key: key, name: name, token: Array(repeating: 0x76, count: count))
    else { preconditionFailure("it is one") }
    return pass
  }

  @Test func `a pass without a key, a name or a token is none`() throws {
    let good = CallControlMessage.channel(Self.somePass(tokenByteCount: 2)).bytes
    func refuses(_ change: (inout [UInt8]) -> Void) -> Bool {
      var bytes = good
      change(&bytes)
      var reader = ByteReader(bytes.span)
      do throws(WireError) {
        _ = try CallControlMessage(parsing: &reader)
        return false
      } catch {
        return true
      }
    }
    #expect(!refuses { _ in })
    #expect(refuses { $0.replaceSubrange(1..<33, with: Array(repeating: 0, count: 32)) })
    #expect(refuses { $0[34] = 0x20 })
    #expect(refuses { $0 = Array($0.dropLast(4)) + [0, 0] })
    #expect(refuses { $0 = Array($0.dropLast(4)) + [1, 2] + Array(repeating: 7, count: 513) })
    let key = try #require(Bytes32(Array(1...32)))
    let name = try #require(PeerName("call"))
    for count in [0, 513] {
      let token = [UInt8](repeating: 1, count: count)
      #expect(ChannelPass(key: key, name: name, token: token) == nil)
    }
    #expect(ChannelPass(key: .zero, name: name, token: [1]) == nil)
  }

  @Test func `what a side understands costs no byte and changes no codec`() throws {
    let media = MediaDescription([.init(.opus, stream: 0, isStereo: true), .init(.vp8, stream: 0)])
    let marked = CallAbilities.moreWords.marked(media.bytes)
    #expect(marked == [1, 0, 3, 2, 0, 0] && CallAbilities(media: marked) == .moreWords)
    #expect(try MediaDescription(parsing: marked) == media)
    #expect(CallAbilities(media: media.bytes) == [] && CallAbilities(media: []) == [])
    #expect(CallAbilities.moreWords.marked([]) == [])
    let both: CallAbilities = [.moreWords, .channels]
    #expect(both.marked(media.bytes) == [1, 0, 7, 2, 0, 0])
    #expect(CallAbilities(media: [1, 0, 0xFF]) == both)
    let ringing = SealedRingDetails(
      isPrepared: false, abilities: .moreWords, nonce: [], sealed: [])
    #expect(ringing.flags == 2 && ringing.abilities == .moreWords && !ringing.isPrepared)
  }
}

@Suite struct CallIDTests {
  @Test func `is a UUID of version 4 as text`() throws {
    var random = RandomSource(seed: 1)
    for _ in 0..<100 {
      let id = CallID(from: &random)
      let text = Array(id.description)
      #expect(text.count == 36 && text[14] == "4" && "89ab".contains(text[19]))
      #expect(CallID(id.description) == id)
      #expect(CallID(id.description.uppercased()) == id)
      #expect(CallID(id.bytes) == id)
    }
  }

  @Test func `orders as its bytes do`() throws {
    let texts = [
      "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0100-000000000000",
      "00000000-0000-0001-0000-000000000000", "01000000-0000-0000-0000-000000000000",
      "ff000000-0000-0000-0000-000000000000",
    ]
    let ids = texts.compactMap { CallID($0) }
    #expect(ids.count == 5 && ids.sorted() == ids)
    #expect(ids.map(\.description) == texts)
  }

  @Test(arguments: [
    "", "00000000-0000-0000-0000-00000000000", "00000000-0000-0000-0000-0000000000011",
    "00000000000000000000000000000001----", "g0000000-0000-0000-0000-000000000001",
    "0000000-00000-0000-0000-000000000001",
  ])
  func `refuses what is no UUID`(text: String) { #expect(CallID(text) == nil) }

  @Test func `has a sentence for every reason`() {
    #expect(Set(CallReason.allCases.map(\.sentence)).count == CallReason.allCases.count)
    #expect(CallReason.allCases.allSatisfy { $0.sentence.hasSuffix(".") })
  }
}
