import GroupKeys
import Primitives
import SecureSession
import Wire

extension FuzzTarget {
  static let groupKeys: [FuzzTarget] = [sframe, keyEnvelope]

  /// A header has one encoding; a listener with a host's key opens only what the host sealed.
  private static let sframe = FuzzTarget(
    "sframe", maximumByteCount: 200,
    seeds: {
      guard let pair = KeyPair.make() else { return [] }
      return (0..<4).compactMap { pair.frame($0) }
        + [Array(0x99...0xA6), [0xFF] + Array(repeating: 9, count: 30)]
    },
    run: { frame in
      var reader = ByteReader(frame.span)
      if let header = try? SFrameHeader(parsing: &reader) {
        expect(header.byteCount == reader.offset, "a header has one length")
        var written = [UInt8](repeating: 0, count: header.byteCount)
        var span = written.mutableSpan
        header.write(to: &span, at: 0)
        expect(written == Array(frame.prefix(reader.offset)), "a header has one encoding")
      }
      guard let pair = KeyPair.make() else { return expect(false, "two members") }
      let sealed = (0..<4).compactMap { pair.frame($0) }
      let opened = pair.opens(frame)
      expect(!opened || sealed.contains(frame), "the host sealed it")
      if opened { expect(!pair.opens(frame), "a frame opens once") }
    })

  /// A message about keys, from a member whose identity the fuzzer does not have.
  private static let keyEnvelope = FuzzTarget(
    "key-envelope", maximumByteCount: KeyMessage.maximumByteCount + 8,
    seeds: {
      guard let pair = KeyPair.make() else { return [] }
      return [
        pair.envelope, KeyMessage.receipt(generation: 0, .zero).bytes, KeyMessage.request.bytes,
        MuteWord(milliseconds: 1, isMuted: true).bytes,
        MediaWord(milliseconds: 1).bytes,
      ]
    },
    run: { bytes in
      if let message = try? KeyMessage(parsing: bytes.span) {
        expect(message.bytes == bytes, "a message has one encoding")
      }
      if let word = try? MuteWord(parsing: bytes.span) {
        expect(word.bytes == bytes, "a word about sound has one encoding")
      }
      if let word = try? MediaWord(parsing: bytes.span) {
        expect((try? MediaWord(parsing: word.bytes.span)) == word, "a word about media comes back")
      }
      guard let pair = KeyPair.make() else { return expect(false, "two members") }
      let before = pair.openedCount
      pair.receive(bytes)
      expect(
        pair.openedCount == before || bytes == pair.envelope, "nobody else makes an envelope")
      expect(pair.answerCount <= 1, "one message draws at most one")
    })
}

/// A host and a listener who has its key. Each input begins with the same two machines.
private final class KeyPair {
  private static let wall: UInt64 = 1_790_000_000
  private static let now = Instant(nanoseconds: 1_000_000_000)
  private static let people = People.make()

  /// Identities, whose making takes longer than everything else.
  private final class People: Sendable {
    let host: LocalIdentity
    let listener: LocalIdentity
    let hostMember: VerifiedMember
    let listenerMember: VerifiedMember

    private init(
      _ host: consuming LocalIdentity, _ listener: consuming LocalIdentity,
      _ hostMember: VerifiedMember, _ listenerMember: VerifiedMember
    ) {
      self.host = host
      self.listener = listener
      self.hostMember = hostMember
      self.listenerMember = listenerMember
    }

    static func make() -> People? {
      var random = RandomSource(seed: 1)
      var host = LocalIdentity(kind: .peer, unixSeconds: wall, random: &random)
      var listener = LocalIdentity(kind: .peer, unixSeconds: wall, random: &random)
      guard let first = try? host.makeCard(unixSeconds: wall),
        let second = try? listener.makeCard(unixSeconds: wall),
        let one = try? VerifiedMember(
          verifying: MemberClaim(uid: 1, role: .host, joinNumber: 1, card: first), by: .open,
          unixMilliseconds: wall * 1000),
        let two = try? VerifiedMember(
          verifying: MemberClaim(uid: 2, role: .host, joinNumber: 2, card: second), by: .open,
          unixMilliseconds: wall * 1000)
      else { return nil }
      return People(host, listener, one, two)
    }
  }

  private let people: People
  private var host: GroupKeyMachine
  private var listener: GroupKeyMachine
  private(set) var envelope: [UInt8] = []
  private(set) var answerCount = 0

  private init(
    _ people: People, host: consuming GroupKeyMachine, listener: consuming GroupKeyMachine
  ) {
    self.people = people
    self.host = host
    self.listener = listener
  }

  static func make() -> KeyPair? {
    guard let people else { return nil }
    let host = GroupKeyMachine(
      channel: .zero, member: people.hostMember, random: RandomSource(seed: 2))
    let listener = GroupKeyMachine(
      channel: .zero, member: people.listenerMember, random: RandomSource(seed: 3))
    let pair = KeyPair(people, host: host, listener: listener)
    pair.introduce()
    return pair
  }

  private func introduce() {
    try? host.handleJoin(people.listenerMember, revision: 1, now: Self.now)
    try? listener.handleJoin(people.hostMember, revision: 1, now: Self.now)
    host.startPublishing()
    while let message = host.pollMessage(identity: people.host, now: Self.now) {
      envelope = message.bytes
      try? listener.handleMessage(
        envelope.span, from: 1, identity: people.listener, now: Self.now)
      _ = listener.pollMessage(identity: people.listener, now: Self.now)
    }
  }

  /// The frame that the host seals as its `index`th, of that many bytes.
  func frame(_ index: Int) -> [UInt8]? {
    let room = GroupKeyMachine.headerRoom
    var bytes = [UInt8](repeating: UInt8(index), count: room + 10 * index + 8)
    var span = bytes.mutableSpan
    let metadata: [UInt8] = [5]
    guard
      let place = try? host.seal(
        &span, text: room..<(room + 10 * index), metadata: metadata.span)
    else { return nil }
    return Array(bytes[place])
  }

  func opens(_ frame: [UInt8]) -> Bool {
    var bytes = frame
    var span = bytes.mutableSpan
    let metadata: [UInt8] = [5]
    let text = try? listener.open(
      &span, at: 0..<frame.count, from: 1, metadata: metadata.span, now: Self.now)
    return text != nil
  }

  func receive(_ bytes: [UInt8]) {
    try? listener.handleMessage(bytes.span, from: 1, identity: people.listener, now: Self.now)
    while listener.pollMessage(identity: people.listener, now: Self.now) != nil { answerCount += 1 }
  }

  var openedCount: Int { listener.counters.openedEnvelopes }
}
