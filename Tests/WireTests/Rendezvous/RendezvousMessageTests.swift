import Primitives
import Testing
import Wire

struct RendezvousMessageTests {
  static let id = PeerID(word0: 1, word1: 2, word2: 3, word3: 4)
  static let forwardID = ForwardID(low: 5, high: 6)
  static let samples: [RendezvousMessage] =
    [
      .lookUp(LookUp(request: 0x0403_0201, target: .id(id))),
      .lookUp(LookUp(request: 7, target: .name(PeerName("alice.example")!))),
      .lookUpResult(
        LookUpResult(request: 9, status: .online, card: Array(repeating: 7, count: 330))),
      .lookUpResult(LookUpResult(request: 9, status: .offline, card: [1])),
      .lookUpResult(LookUpResult(request: 9, status: .unknown)),
      .lookUpResult(LookUpResult(request: 9, status: .tooManyRequests)),
      .forward(Forward(id: forwardID, to: id, lifeSeconds: 8, body: [1, 2, 3])),
      .forwarded(
        Forwarded(
          Forward(
            id: forwardID, to: .zero, lifeSeconds: 8, body: Array(repeating: 1, count: 4096)),
          from: id)),
      .forward(
        Forward(
          id: forwardID, to: id, presence: PresenceID(rawValue: 0x1234_5678_9ABC), lifeSeconds: 8,
          body: [1, 2, 3])),
      .forwardResult(ForwardResult(id: forwardID, status: .notOnline)),
      .forwardResult(ForwardResult(id: forwardID, status: .forwarded, count: 8)),
      .relays(offer(1)), .relays(offer(RelayOffer.serverLimit)),
      .token(TokenRenewal(token: Array(repeating: 65, count: 512))),
      .token(TokenRenewal(token: [])),
      .tokenResult(.accepted(milliseconds: 0)),
      .tokenResult(.accepted(milliseconds: .max)),
      .tokenResult(.refused(.expired)),
      .tokenResult(.tooMany),
      .audience(Audience()), .audience(audience(Audience.limit)),
    ] + ChannelMessageTests.samples

  static func audience(_ count: Int) -> Audience {
    Audience((0..<count).map { AudienceMark(rawValue: UInt64($0) << 40 | 7) })
  }

  @Test func `an audience is ascending, without copies, and not too large`() throws {
    let marks = [9, 3, 9, 5].map { AudienceMark(rawValue: $0) }
    let audience = Audience(marks)
    #expect(audience.marks.map(\.rawValue) == [3, 5, 9])
    #expect((0...10).filter { audience.contains(AudienceMark(rawValue: $0)) } == [3, 5, 9])
    #expect(!Audience().contains(marks[0]))
    let bytes = RendezvousMessage.audience(audience).bytes
    #expect(Array(bytes[..<12]) == [11, 3, 0, 3, 0, 0, 0, 0, 0, 0, 0, 5])
    for (place, value) in [(3, UInt8(5)), (3, 6), (19, 5), (19, 4), (1, 2), (1, 4), (2, 2)] {
      var changed = bytes
      changed[place] = value
      #expect(throws: WireError.self) { try RendezvousMessage(parsing: changed.span) }
    }
    #expect(Self.audience(Audience.limit + 9).marks.count == Audience.limit)
    let longest = RendezvousMessage.audience(Self.audience(Audience.limit)).bytes
    #expect(longest.count <= RendezvousMessage.maximumByteCount)
  }

  /// With the longest texts.
  static func offer(_ count: Int) -> RelayOffer {
    let text = String(repeating: "x", count: RelayOffer.textByteLimit)
    return RelayOffer(
      lifeSeconds: 43_200,
      servers: Array(
        repeating: RelayOffer.Server(uri: "turn:h", user: text, password: text), count: count))
  }

  @Test func `relays are one to four, with texts of printable ASCII`() {
    var bytes = RendezvousMessage.relays(Self.offer(1)).bytes
    #expect(Array(bytes[..<6]) == [6, 0xC0, 0xA8, 0, 0, 1])
    for (place, value) in [(5, 0), (5, 5), (6, 0), (7, 0x20), (7, 0x0A), (7, 0x7F), (7, 0xC3)] {
      let before = bytes[place]
      bytes[place] = UInt8(value)
      #expect(throws: WireError.self) { try RendezvousMessage(parsing: bytes.span) }
      bytes[place] = before
    }
    #expect(throws: Never.self) { try RendezvousMessage(parsing: bytes.span) }
    #expect(!RelayOffer.isText([]) && !RelayOffer.isText(Array(repeating: 0x41, count: 256)))
  }

  @Test(arguments: samples.indices)
  func `reads back what it wrote`(index: Int) throws {
    let message = Self.samples[index]
    let bytes = message.bytes
    #expect(try RendezvousMessage(parsing: bytes.span) == message)
    #expect(bytes.count <= RendezvousMessage.maximumByteCount)
  }

  @Test(arguments: samples.indices)
  func `refuses every message cut short and one byte too long`(index: Int) {
    let message = Self.samples[index]
    let bytes = message.bytes
    for count in 0..<bytes.count {
      #expect(throws: WireError.self) {
        _ = try RendezvousMessage(parsing: Array(bytes[..<count]).span)
      }
    }
    #expect(throws: WireError.self) { _ = try RendezvousMessage(parsing: (bytes + [0]).span) }
  }

  /// Goal: whoever does not know the name still reads FORWARDED when it is not there.
  @Test func `FORWARDED may have the sender's name behind its body`() throws {
    let forward = Forward(id: Self.forwardID, to: .zero, lifeSeconds: 8, body: [1, 2, 3])
    var message = Forwarded(forward, from: Self.id)
    let plain = RendezvousMessage.forwarded(message).bytes
    message.name = PeerName("alice")
    let named = RendezvousMessage.forwarded(message).bytes
    #expect(named == plain + [5] + Array("alice".utf8))
    #expect(try RendezvousMessage(parsing: named.span) == .forwarded(message))
    for count in (plain.count + 1)..<named.count {
      #expect(throws: WireError.self) {
        _ = try RendezvousMessage(parsing: Array(named[..<count]).span)
      }
    }
    for tail: [UInt8] in [[0], [1, 0x20], [64] + Array(repeating: 65, count: 64), [1, 65, 66]] {
      #expect(throws: WireError.self) { _ = try RendezvousMessage(parsing: (plain + tail).span) }
    }
  }

  @Test func `lays LOOKUP out as the protocol page says`() {
    #expect(Self.samples[0].bytes.prefix(7) == [1, 1, 2, 3, 4, 2, 1])
    #expect(Self.samples[0].bytes.count == 1 + 4 + 1 + 32)
    #expect(Self.samples[1].bytes.prefix(8) == [1, 7, 0, 0, 0, 1, 13, UInt8(ascii: "a")])
  }

  @Test func `refuses foreign types, kinds, statuses and names`() {
    let bad: [[UInt8]] = [
      [0], [6], [255],
      [1, 0, 0, 0, 0, 3, 1, 65],  // kind
      [1, 0, 0, 0, 0, 1, 0],  // empty name
      [1, 0, 0, 0, 0, 1, 1, 0x20],  // a space
      [1, 0, 0, 0, 0, 1, 2, 0xC3, 0x28],  // malformed UTF-8
      [2, 0, 0, 0, 0, 5, 0, 0],  // status
      [2, 0, 0, 0, 0, 0, 0, 0],  // online without a card
      [2, 0, 0, 0, 0, 2, 1, 0, 9],  // unknown with a card
      [5] + Array(repeating: 0, count: 16) + [6, 0],
      [5] + Array(repeating: 0, count: 16) + [0, 0],
      [5] + Array(repeating: 0, count: 16) + [1, 1],
    ]
    for bytes in bad {
      #expect(throws: WireError.self, "\(bytes)") {
        _ = try RendezvousMessage(parsing: bytes.span)
      }
    }
  }

  @Test func `lets the server see a body that is too long, and the client not`() throws {
    let long = Forward(
      id: Self.forwardID, to: Self.id, lifeSeconds: 8, body: Array(repeating: 0, count: 4097))
    #expect(
      try RendezvousMessage(parsing: RendezvousMessage.forward(long).bytes.span) == .forward(long))
    let passedOn = RendezvousMessage.forwarded(Forwarded(long, from: Self.id)).bytes
    #expect(throws: WireError.self) { _ = try RendezvousMessage(parsing: passedOn.span) }
  }

  /// Method: one byte of a valid message is replaced by each of 256 values, at every place.
  @Test func `never traps on a changed byte`() {
    for message in Self.samples {
      var bytes = message.bytes
      for index in bytes.indices.prefix(60) {
        let kept = bytes[index]
        for value in UInt8.min...UInt8.max {
          bytes[index] = value
          _ = try? RendezvousMessage(parsing: bytes.span)
        }
        bytes[index] = kept
      }
    }
  }
}
