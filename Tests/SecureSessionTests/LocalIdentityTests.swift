import Cryptography
import Primitives
import SecureSession
import Testing
import Wire

@Suite struct LocalIdentityTests {
  @Test func `is stored and read back, keys, dates and serial`() throws {
    var random = RandomSource(seed: 70)
    var identity = LocalIdentity(kind: .peer, unixSeconds: testDay, random: &random)
    _ = identity.rotateIfDue(unixSeconds: testDay + 8 * 86_400, random: &random)
    let card = try identity.makeCard(unixSeconds: testDay + 8 * 86_400)
    let blob = identity.stored()
    var read = try LocalIdentity(stored: blob.span)
    expect(read.id == identity.id && read.kind == .peer)
    expect(read.staticKey.publicKey == identity.staticKey.publicKey)
    expect(read.nextRotation == identity.nextRotation)
    expect(previous(read) != nil && previous(read) == previous(identity))
    let next = try read.makeCard(unixSeconds: testDay + 8 * 86_400)
    expect(next.content.serial > card.content.serial)
  }

  @Test func `tells foreign, later, cut and damaged files apart`() throws {
    let identity = testIdentity(seed: 71)
    let blob = identity.stored()
    let bytes = (0..<blob.count).map { blob.span[$0] }
    expect(fault(of: bytes) == nil)
    expect(fault(of: []) == .foreign)
    expect(fault(of: Array("-----BEGIN PRIVATE KEY-----".utf8)) == .foreign)
    var later = bytes
    later[17] = UInt8(ascii: "2")
    expect(fault(of: later) == .newerVersion)
    for count in 1..<bytes.count {
      expect(fault(of: Array(bytes.prefix(count))) == .truncated, "\(count) bytes")
    }
    expect(fault(of: bytes + [0]) == .damaged)
    for index in 18..<bytes.count {
      for bit in 0..<8 {
        var damaged = bytes
        damaged[index] ^= UInt8(1 << bit)
        expect(fault(of: damaged) == .damaged, "bit \(bit) of byte \(index)")
      }
    }
  }

  @Test(arguments: [LocalIdentity.Kind.peer, .rendezvous])
  func `rotates its device key on the second, and keeps the one before`(
    kind: LocalIdentity.Kind
  ) throws {
    var random = RandomSource(seed: 72)
    var identity = testIdentity(seed: 72, kind: kind)
    let first = identity.staticKey.publicKey
    let period = kind.rotationPeriod
    var hasRotated = identity.rotateIfDue(unixSeconds: testDay + period - 1, random: &random)
    expect(!hasRotated)
    hasRotated = identity.rotateIfDue(unixSeconds: testDay + period, random: &random)
    expect(hasRotated)
    let second = identity.staticKey.publicKey
    expect(second != first)
    expect(previous(identity) == first)
    hasRotated = identity.rotateIfDue(unixSeconds: testDay + 2 * period, random: &random)
    expect(hasRotated && previous(identity) == second)
    // After a long sleep the old key is of no use to anybody: no card with it is valid any more.
    let third = identity.staticKey.publicKey
    hasRotated = identity.rotateIfDue(unixSeconds: testDay + 9 * period, random: &random)
    expect(hasRotated && previous(identity) != third)
    expect((previous(identity) == nil) == (kind == .rendezvous))
  }

  /// One runs for weeks, another is started from the file in the tenth: a card of either opens at
  /// both.
  @Test func `programs of one identity change to the same keys, each by itself`() {
    var random = (RandomSource(seed: 1), RandomSource(seed: 2))
    var running = testIdentity(seed: 75)
    var late = testIdentity(seed: 75)
    let week = LocalIdentity.Kind.peer.rotationPeriod
    for number in UInt64(1)...9 {
      _ = running.rotateIfDue(unixSeconds: testDay + number * week + 1800, random: &random.0)
    }
    let next = running.nextStaticKey().publicKey
    _ = late.rotateIfDue(unixSeconds: testDay + 10 * week + 5, random: &random.1)
    expect(late.staticKey.publicKey == next)
    expect(previous(late) == running.staticKey.publicKey)
    _ = running.rotateIfDue(unixSeconds: testDay + 10 * week + 1800, random: &random.0)
    expect(running.staticKey.publicKey == late.staticKey.publicKey)
    expect(running.nextRotation == late.nextRotation)
  }

  @Test func `a replaced key is random, keeps nothing of the one before, and supersedes it`() throws
  {
    var random = RandomSource(seed: 976)
    let hour: UInt64 = 3600
    var owner = testIdentity(seed: 76)
    var copy = testIdentity(seed: 76)
    let first = try owner.makeCard(unixSeconds: testDay)
    owner.replaceStaticKey(unixSeconds: testDay + hour, random: &random)
    let second = try owner.makeCard(unixSeconds: testDay + hour)
    expect(owner.id == copy.id && second.staticKey != first.staticKey && previous(owner) == nil)
    let next = copy.nextStaticKey().publicKey
    expect(second.staticKey != next)
    expect(second.content.supersedes(first.content) && !first.content.supersedes(second.content))
    // A card that the copy makes later, with a higher serial, for the key that was given up.
    let third = try copy.makeCard(unixSeconds: testDay + 2 * hour)
    expect(third.content.serial > second.content.serial)
    expect(second.content.supersedes(third.content))
    // Replaced a whole week after it was made: not taken for the step of a week.
    var late = testIdentity(seed: 76)
    let week = LocalIdentity.Kind.peer.rotationPeriod
    late.replaceStaticKey(unixSeconds: testDay + week, random: &random)
    let fourth = try late.makeCard(unixSeconds: testDay + week)
    expect(fourth.content.supersedes(first.content))
  }

  @Test func `the step of a week supersedes nothing, nor does a newer card of the same key`() throws
  {
    var random = RandomSource(seed: 977)
    let week = LocalIdentity.Kind.peer.rotationPeriod
    var identity = testIdentity(seed: 77)
    let first = try identity.makeCard(unixSeconds: testDay)
    let again = try identity.makeCard(unixSeconds: testDay + 3600)
    _ = identity.rotateIfDue(unixSeconds: testDay + week, random: &random)
    let next = try identity.makeCard(unixSeconds: testDay + week)
    for (one, other) in [(again, first), (next, again), (first, next)] {
      expect(!one.content.supersedes(other.content))
    }
    _ = identity.rotateIfDue(unixSeconds: testDay + 2 * week, random: &random)
    let third = try identity.makeCard(unixSeconds: testDay + 2 * week)
    expect(third.content.supersedes(first.content))
    var other = testIdentity(seed: 78)
    let foreign = try other.makeCard(unixSeconds: testDay)
    expect(!third.content.supersedes(foreign.content))
  }

  @Test func `a key made under a clock far ahead is replaced`() {
    var random = RandomSource(seed: 73)
    var identity = testIdentity(seed: 73)
    let yearBefore = testDay - 365 * 86_400
    let hasRotated = identity.rotateIfDue(unixSeconds: yearBefore, random: &random)
    expect(hasRotated)
    expect(identity.nextRotation == yearBefore + LocalIdentity.Kind.peer.rotationPeriod)
  }

  @Test func `cards are valid as long as their key opens anything`() throws {
    for kind in [LocalIdentity.Kind.peer, .rendezvous] {
      var identity = testIdentity(seed: 74, kind: kind)
      let card = try identity.makeCard(unixSeconds: testDay + 100)
      expect(card.content.notBefore == testDay)
      expect(card.content.notAfter == testDay + 2 * kind.rotationPeriod)
      expect(card.staticKey == identity.staticKey.publicKey && card.id == identity.id)
    }
  }

  private func previous(_ identity: borrowing LocalIdentity) -> Bytes32? {
    switch identity.previousStaticKey {
    case .some(let key): key.publicKey
    case .none: nil
    }
  }

  private func fault(of bytes: [UInt8]) -> IdentityFileFault? {
    do throws(IdentityFileFault) {
      _ = try LocalIdentity(stored: bytes.span)
      return nil
    } catch {
      return error
    }
  }
}

@Suite struct ContactCardTrustTests {
  @Test func `a card is believed for its ID and its time only`() throws {
    var identity = testIdentity(seed: 80)
    let card = try identity.makeCard(unixSeconds: testDay)
    let end = card.content.notAfter
    expect(fault(card, identity.id, testDay) == nil)
    expect(fault(card, nil, testDay) == nil)
    expect(fault(card, testIdentity(seed: 81).id, testDay) == .wrongIdentity)
    expect(fault(card, nil, testDay - 600) == nil)
    expect(fault(card, nil, testDay - 601) == .notYetValid)
    expect(fault(card, nil, end + 600) == nil)
    expect(fault(card, nil, end + 601) == .expired)
    expect(fault(card, nil, .max) == .expired)
  }

  @Test func `no bit of a card can be changed`() throws {
    var identity = testIdentity(seed: 82)
    let home = ContactCard.Home(id: testIdentity(seed: 83).id, host: "example.net", port: 7400)
    let card = try identity.makeCard(home: home, name: PeerName("alice"), unixSeconds: testDay)
    expect(card.content.home == home && card.content.name == PeerName("alice"))
    for index in card.bytes.indices {
      for bit in 0..<8 {
        var bytes = card.bytes
        bytes[index] ^= UInt8(1 << bit)
        let believed: Bool
        do {
          try ContactCard(parsing: bytes).verify(unixSeconds: testDay)
          believed = true
        } catch {
          believed = false
        }
        expect(!believed, "bit \(bit) of byte \(index)")
      }
    }
  }

  @Test func `a card whose key is of low order is refused, even if it is signed`() throws {
    var random = RandomSource(seed: 84)
    let key = Ed25519.PrivateKey(seed: SecretKey(random: &random))
    let content = ContactCard.Content(
      id: PeerID(key.publicKey), staticKey: .zero, notBefore: testDay, notAfter: testDay + 1,
      serial: 1)
    let card = try ContactCard.sign(content, with: key)
    expect(fault(card, nil, testDay) == .unusableKey)
  }

  @Test func `goes through text and back, and only so`() throws {
    var identity = testIdentity(seed: 85)
    let card = try identity.makeCard(name: PeerName("bob"), unixSeconds: testDay)
    let text = card.text
    expect(text.hasPrefix("earshot:"))
    expect(ContactCard(text: text) == card)
    expect(ContactCard(text: text + "=") == nil)
    expect(ContactCard(text: String(text.dropLast())) == nil)
    expect(ContactCard(text: String(text.dropFirst(8))) == nil)
    expect(ContactCard(text: text.replacing("earshot:", with: "Earshot:")) == nil)
    expect(ContactCard(text: "earshot:") == nil)
  }

  private func fault(_ card: ContactCard, _ id: PeerID?, _ unixSeconds: UInt64) -> CardFault? {
    do throws(CardFault) {
      try card.verify(for: id, unixSeconds: unixSeconds)
      return nil
    } catch {
      return error
    }
  }
}
