import Forwarding
import GroupKeys
import Primitives
import Testing
import Wire

@testable import Peer

/// A host that keeps its sound back says so to the members of a small channel
/// (docs/protocol/sframe.md §4).
struct RelayedMuteTests {
  private func changes(_ world: RelayedWorld, _ uid: UInt32) -> [UInt32: [Bool]] {
    var changes: [UInt32: [Bool]] = [:]
    for case .audioMuted(let other, let isMuted) in world.member(uid)?.steps ?? [] {
      changes[other, default: []].append(isMuted)
    }
    return changes
  }

  private func makeWorld(seed: UInt64, count: UInt32 = 4) throws -> RelayedWorld {
    let world = try RelayedWorld(seed: seed)
    for uid in 1...count { try world.join(uid, uid > 2 ? .audience : .host) }
    world.run(.seconds(2))
    return world
  }

  @Test func `all know within 100 ms that a host keeps its sound back, and that it goes on`()
    throws
  {
    let world = try makeWorld(seed: 71)
    world.setMuted(1, true)
    world.run(.milliseconds(100))
    for uid in [2, 3, 4] as [UInt32] { #expect(changes(world, uid) == [1: [true]]) }
    world.run(.seconds(20))
    world.setMuted(1, false)
    world.run(.milliseconds(100))
    for uid in [2, 3, 4] as [UInt32] { #expect(changes(world, uid) == [1: [true, false]]) }
    world.run(.seconds(30))
    #expect(changes(world, 1).isEmpty && changes(world, 2) == [1: [true, false]])
  }

  @Test(arguments: 72..<80 as Range<UInt64>)
  func `loss of a third delays it`(seed: UInt64) throws {
    let world = try makeWorld(seed: seed)
    world.line = { _, _, random in random.unit() < 0.3 ? [] : [40] }
    world.setMuted(2, true)
    world.run(.seconds(60))
    for uid in [1, 3, 4] as [UInt32] { #expect(changes(world, uid) == [2: [true]]) }
    world.setMuted(2, false)
    for time in UInt16(0)..<500 {
      world.speak(2, time &* 2)
      world.run(.milliseconds(20))
    }
    for uid in [1, 3, 4] as [UInt32] { #expect(changes(world, uid) == [2: [true, false]]) }
  }

  @Test func `who comes later knows within six seconds`() throws {
    let world = try makeWorld(seed: 81)
    world.setMuted(1, true)
    world.run(.seconds(12))
    try world.join(9, .audience)
    world.run(.seconds(6))
    #expect(changes(world, 9) == [1: [true]])
  }

  @Test func `a new seat at a relay that was started again tells it again`() throws {
    let world = try makeWorld(seed: 82)
    world.setMuted(1, true)
    world.run(.seconds(1))
    world.stopRelay()
    world.run(.seconds(3))
    world.startRelay()
    for uid in 1...4 as ClosedRange<UInt32> { world.grantAgain(uid) }
    world.run(.seconds(30))
    for uid in [2, 3, 4] as [UInt32] { #expect(changes(world, uid) == [1: [true]]) }
  }

  @Test func `members of a large channel are not told`() throws {
    let world = try makeWorld(seed: 83, count: 20)
    world.run(.seconds(20))
    let keys = world.counters.keysForwarded
    world.setMuted(1, true)
    world.run(.seconds(10))
    #expect((2...20).allSatisfy { changes(world, $0).isEmpty })
    #expect(world.counters.keysForwarded == keys)
  }

  // MARK: - Pictures that are turned

  private func turns(_ world: RelayedWorld, _ uid: UInt32) -> [UInt32: [PictureRotation]] {
    var turns: [UInt32: [PictureRotation]] = [:]
    for case .picturesTurned(let other, let turn, _) in world.member(uid)?.steps ?? [] {
      turns[other, default: []].append(turn)
    }
    return turns
  }

  @Test(arguments: 84..<88 as Range<UInt64>)
  func `all know how a host's pictures are turned, who comes later and on bad lines too`(
    seed: UInt64
  ) throws {
    let world = try makeWorld(seed: seed)
    world.setTurn(1, .none, at: 5)
    world.setTurn(1, .quarter, at: 100)
    world.run(.milliseconds(100))
    for uid in [2, 3, 4] as [UInt32] { #expect(turns(world, uid) == [1: [.quarter]]) }
    world.line = { _, _, random in random.unit() < 0.3 ? [] : [40] }
    world.run(.seconds(20))
    world.setTurn(1, .none, at: 2_000_000)
    world.run(.seconds(30))
    for uid in [2, 3, 4] as [UInt32] { #expect(turns(world, uid) == [1: [.quarter, .none]]) }
    world.setTurn(1, .threeQuarters, at: 0xFF_FFFF)
    world.run(.seconds(30))
    // A later picture is turned alike: who comes is told of its time, and not of half a day ago.
    world.setTurn(1, .threeQuarters, at: 3_000_000)
    try world.join(9, .audience)
    world.run(.seconds(30))
    let steps = world.member(9)?.steps ?? []
    let told = steps.filter { if case .picturesTurned = $0 { true } else { false } }
    #expect(told == [.picturesTurned(uid: 1, .threeQuarters, mediaTime: 3_000_000)])
  }

  @Test func `all know whose music plays, and that it has ended, whatever is turned meanwhile`()
    throws
  {
    let world = try makeWorld(seed: 91)
    world.setMusic(2, true)
    world.run(.seconds(3))
    world.setTurn(2, .half, at: 500)
    world.run(.seconds(3))
    try world.join(9, .audience)
    world.run(.seconds(6))
    world.setMusic(2, false)
    world.run(.seconds(3))
    for uid in [1, 3, 4, 9] as [UInt32] {
      var music: [Bool] = []
      for case .music(2, let isOn) in world.member(uid)?.steps ?? [] { music.append(isOn) }
      #expect(music == [true, false] && turns(world, uid) == [2: [.half]], "\(uid)")
    }
  }

  @Test(arguments: 92..<96 as Range<UInt64>)
  func `all know what a host has switched off, who comes later and on bad lines too`(
    seed: UInt64
  ) throws {
    let world = try makeWorld(seed: seed)
    world.line = { _, _, random in random.unit() < 0.3 ? [] : [40] }
    // Three in the same millisecond: the last one holds.
    for off in [.video, .audio, [.video, .audioSource]] as [SwitchedOff] { world.setOff(2, off) }
    world.run(.seconds(12))
    try world.join(9, .audience)
    world.run(.seconds(12))
    world.setOff(2, .audioSource)
    world.run(.seconds(60))
    for uid in [1, 3, 4, 9] as [UInt32] {
      var told: [SwitchedOff: Bool] = [.audio: true]
      for case .switched(2, let part, let isOn) in world.member(uid)?.steps ?? [] {
        told[part] = isOn
      }
      #expect(told == [.audio: true, .video: true, .audioSource: false], "\(uid)")
    }
  }

  @Test func `a word about media has its bytes, and skips flags that it does not know`() {
    var word = MediaWord(milliseconds: 0x0102_0304_0506_0708)
    (word.hasMusic, word.quarters, word.mediaTime) = (true, 2, 0x03_0201)
    word.off = [.audio, .videoSource]
    let bytes = word.bytes
    #expect(bytes == [8, 7, 6, 5, 4, 3, 2, 1, 0x13, 2, 1, 2, 3, 0])
    #expect(MediaWord(bytes) == word)
    var later = bytes
    later[8] |= 0xE0
    #expect(MediaWord(later) == word)
    for (place, byte) in [(9, 4), (13, 1)] {
      var other = bytes
      other[place] = UInt8(byte)
      #expect(MediaWord(other) == nil)
    }
    #expect(MediaWord(bytes + [0]) == nil && MediaWord(Array(bytes.dropLast())) == nil)
  }

  // MARK: - The rule alone

  private static func heard(_ words: [(at: Int64, MuteWord)]) -> [Bool] {
    var mutes = RelayedMutes()
    mutes.add(7, now: .zero)
    return words.map { at, word in mutes.handle(word, of: 7, now: .zero + .milliseconds(at)) }
  }

  @Test func `a word that comes late, twice, or from a stranger changes nothing`() {
    let (on, off) = (
      MuteWord(milliseconds: 100, isMuted: true), MuteWord(milliseconds: 900, isMuted: false)
    )
    let changes = Self.heard([(0, on), (600, on), (1200, off), (1800, on)])
    #expect(changes == [true, false, true, false])
    #expect(Self.heard([(0, off)]) == [false])
    var mutes = RelayedMutes()
    #expect(mutes.handle(on, of: 8, now: .zero) == false)
  }

  @Test func `a member that changes its mind without end is heard twice a second`() {
    var words: [(at: Int64, MuteWord)] = []
    for number in 1...300 as ClosedRange<Int64> {
      let isMuted = number / 7 % 2 == 1
      words.append((number * 10, MuteWord(milliseconds: UInt64(number), isMuted: isMuted)))
    }
    #expect(Self.heard(words).count { $0 } == 5)
  }

  @Test func `sound ends a mute whose end was lost, but not sound that was under way`() {
    var mutes = RelayedMutes()
    mutes.add(7, now: .zero)
    let word = MuteWord(milliseconds: 1, isMuted: true)
    #expect(mutes.handle(word, of: 7, now: .zero) == true)
    #expect(mutes.handleSound(of: 7, now: .zero + .milliseconds(400)) == false)
    #expect(mutes.handleSound(of: 7, now: .zero + .milliseconds(1500)) == true)
    #expect(mutes.handleSound(of: 7, now: .zero + .milliseconds(1520)) == false)
  }

  @Test func `a word of another length, or with other bits, is none`() {
    let bytes = MuteWord(milliseconds: 0x0102_0304_0506_0708, isMuted: true).bytes
    #expect(bytes == [8, 7, 6, 5, 4, 3, 2, 1, 1])
    #expect((try? MuteWord(parsing: bytes.span)) != nil)
    let long = bytes + [0]
    let unused = Array(bytes.dropLast()) + [2]
    let others: [[UInt8]] = [Array(bytes.dropLast()), long, unused, []]
    for other in others {
      #expect((try? MuteWord(parsing: other.span)) == nil)
    }
  }
}
