import Cryptography
import Primitives
import Testing

@testable import GroupKeys

@Suite struct ReceivedKeysTests {
  /// A sender whose frames are made at will, and a receiver that was handed its key.
  final class Pair {
    var chain: SenderKey
    var key: SFrameKey
    var counter: UInt64 = 0
    let keys: ReceivedKeys
    let aes = AESCounterMode()

    init(generation: UInt32 = 0, step: UInt32 = 0, limits: GroupKeyLimits = GroupKeyLimits()) {
      chain = SenderKey(
        generation: generation, step: step, baseKey: secretKey(UInt8(1 + generation)))
      key = chain.frameKey()
      keys = ReceivedKeys(limits: limits)
      _ = keys.install(chain.clone(), now: instant(0))
    }

    func ratchet(_ steps: Int = 1) {
      for _ in 0..<steps { chain.ratchet() }
      key = chain.frameKey()
      counter = 0
    }

    func freshKey(_ generation: UInt32, now: Instant) -> ReceivedKeys.Outcome {
      chain = SenderKey(generation: generation, baseKey: secretKey(UInt8(1 + generation)))
      key = chain.frameKey()
      counter = 0
      return keys.install(chain.clone(), now: now)
    }

    func frame(_ number: UInt64? = nil) throws -> [UInt8] {
      var bytes = [UInt8](repeating: 0, count: 17) + [1, 2, 3] + [UInt8](repeating: 0, count: 8)
      var span = bytes.mutableSpan
      let place = try key.seal(
        &span, text: 17..<20, counter: number ?? counter, metadata: Span(), with: aes)
      counter += 1
      return Array(bytes[place])
    }

    func open(
      _ frame: [UInt8], at milliseconds: Int, with other: ReceivedKeys? = nil
    ) -> SFrameError? {
      var bytes = frame
      let keys = other ?? keys
      do throws(SFrameError) {
        var span = bytes.mutableSpan
        let text = try keys.open(
          &span, at: 0..<frame.count, metadata: Span(), now: instant(milliseconds), with: aes)
        return Array(bytes[text]) == [1, 2, 3] ? nil : .malformed
      } catch {
        return error
      }
    }
  }

  @Test func `a frame opens once, in any order within the window`() throws {
    let pair = Pair()
    let frames = try (0..<100).map { _ in try pair.frame() }
    for frame in frames.reversed() { #expect(pair.open(frame, at: 1) == nil) }
    for frame in frames { #expect(pair.open(frame, at: 1) == .replayed) }
    #expect(pair.open(try pair.frame(5000), at: 2) == nil)
    #expect(pair.open(try pair.frame(5000 - 4096), at: 2) == .replayed)
    #expect(pair.open(try pair.frame(5000 - 4095), at: 2) == nil)
  }

  @Test func `a frame that was changed does not open, and spends nothing`() throws {
    let pair = Pair()
    let frame = try pair.frame(1000)
    for index in frame.indices {
      for bit in 0..<8 {
        var changed = frame
        changed[index] ^= 1 << UInt8(bit)
        #expect(pair.open(changed, at: 1) != nil)
      }
    }
    for count in 0..<frame.count { #expect(pair.open(Array(frame.prefix(count)), at: 1) != nil) }
    #expect(pair.open(frame, at: 2_000) == nil)
  }

  @Test func `the receiver follows a ratchet, and stragglers of the steps before`() throws {
    let pair = Pair()
    let first = try pair.frame()
    pair.ratchet()
    let second = try pair.frame()
    pair.ratchet()
    let third = try pair.frame()
    #expect(pair.open(third, at: 10) == nil)
    #expect(pair.open(first, at: 3_000) == nil)
    #expect(pair.open(second, at: 3_000) == nil)
    #expect(pair.keys.keyCount == 3)
    pair.keys.forget(now: instant(10_000))
    #expect(pair.keys.keyCount == 1)
    #expect(pair.open(try pair.frame(), at: 10_000) == nil)
  }

  @Test func `a key that was handed over opens nothing sealed before`() throws {
    let pair = Pair()
    let before = try pair.frame()
    pair.ratchet()
    let newcomer = ReceivedKeys(limits: GroupKeyLimits())
    _ = newcomer.install(pair.chain.clone(), now: instant(0))
    #expect(pair.open(before, at: 1, with: newcomer) == .tooOld)
    #expect(pair.open(try pair.frame(), at: 1, with: newcomer) == nil)
  }

  @Test func `two hundred joins between two frames are caught up with`() throws {
    let pair = Pair()
    pair.ratchet(Int(GroupKeyLimits.stepsAhead))
    #expect(pair.open(try pair.frame(), at: 1) == nil)
    pair.ratchet(Int(GroupKeyLimits.stepsAhead) + 1)
    #expect(pair.open(try pair.frame(), at: 2) == .tooOld)
    // A new envelope brings the receiver back.
    #expect(pair.keys.install(pair.chain.clone(), now: instant(3)) == .installed)
    #expect(pair.open(try pair.frame(), at: 4) == nil)
  }

  /// Goal: a relay cannot make a receiver work for frames that nobody sealed.
  @Test func `forged steps cost a bounded share of a second`() throws {
    let pair = Pair()
    var refused = 0
    for index in 0..<1000 {
      let low = UInt8(truncatingIfNeeded: 100 + index % 100)
      let forged = [0x80, low] + [UInt8](repeating: 7, count: 12)
      if pair.open(forged, at: 1) == .limited { refused += 1 }
    }
    #expect(refused > 980)
    pair.ratchet()
    #expect(pair.open(try pair.frame(), at: 1_500) == nil, "the next second has a budget again")
  }

  /// Goal: a host cannot make a receiver walk its chain as far as it likes with frames that open.
  @Test func `steps of frames that open cost a bounded share of a second`() throws {
    let pair = Pair()
    var opened = 0
    for _ in 0..<100 {
      pair.ratchet(Int(GroupKeyLimits.stepsAhead))
      guard pair.open(try pair.frame(), at: 1) == nil else { break }
      opened += 1
    }
    #expect(opened == 4, "1024 steps a second")
    // Where it stopped it goes on in the next second.
    let other = Pair()
    for second in 0..<5 {
      for round in 0..<4 {
        other.ratchet(Int(GroupKeyLimits.stepsAhead))
        #expect(other.open(try other.frame(), at: 1 + second * 1_000 + round) == nil)
      }
    }
  }

  /// Goal: whoever ratchets for joins, each 50 ms at most, is never refused; nor is it after a
  /// listener was away for as long as it can follow at all, and then gets all at once.
  @Test func `an honest sender is followed through joins without end and outages`() throws {
    let limits = GroupKeyLimits()
    let pause = Int(limits.ratchetInterval.milliseconds)
    let pair = Pair()
    var waiting: [[UInt8]] = []
    for step in 0..<4_000 {
      let now = step * pause
      pair.ratchet()
      waiting.append(try pair.frame())
      // 11 s away, 2 s there.
      guard step % 260 >= 220 else { continue }
      // What was kept for it comes in one go, the newest first.
      for frame in waiting.reversed().prefix(limits.keys / 2) {
        #expect(pair.open(frame, at: now) == nil, "step \(step)")
      }
      waiting = []
    }
  }

  @Test func `the next generation opens beside the one before, which is then erased`() throws {
    let pair = Pair()
    let early = try (0..<3).map { _ in try pair.frame() }
    #expect(pair.open(early[0], at: 0) == nil)
    #expect(pair.freshKey(1, now: instant(100)) == .installed)
    #expect(pair.open(early[1], at: 2_000) == nil)
    #expect(pair.open(try pair.frame(), at: 2_000) == nil)
    #expect(pair.open(early[2], at: 5_900) == nil, "4 s after the first of the new generation")
    #expect(pair.open(early[2], at: 6_200) == .tooOld)
    #expect(pair.keys.keyCount == 1)
  }

  /// Goal: who keeps an old envelope brings no old key back, with an empty replay window.
  @Test func `an envelope of a generation that is over is stale`() throws {
    let pair = Pair()
    let frame = try pair.frame()
    let old = pair.chain.clone()
    #expect(pair.open(frame, at: 0) == nil)
    #expect(pair.freshKey(1, now: instant(0)) == .installed)
    #expect(pair.keys.install(old.clone(), now: instant(10)) == .known)
    #expect(pair.keys.install(old.clone(), now: instant(6_001)) == .stale)
    #expect(pair.open(frame, at: 6_002) == .tooOld)
  }

  /// Goal: one that is swallowed and comes minutes later opens nothing either.
  @Test func `a generation that was skipped comes within its life or not at all`() throws {
    let limits = GroupKeyLimits()
    for (delay, outcome) in [(5_000, ReceivedKeys.Outcome.installed), (6_000, .stale)] {
      let pair = Pair(generation: 5, limits: limits)
      let late = SenderKey(generation: 4, baseKey: secretKey(5))
      #expect(pair.keys.install(late.clone(), now: instant(delay)) == outcome)
    }
  }

  @Test func `of many generations the newest and the used ones stay`() throws {
    let pair = Pair()
    let frames = try (0..<2).map { _ in try pair.frame() }
    #expect(pair.open(frames[0], at: 0) == nil)
    for generation in 1...20 {
      #expect(pair.freshKey(UInt32(generation), now: instant(1)) == .installed)
    }
    #expect(pair.keys.keyCount == GroupKeyLimits().generations)
    #expect(pair.open(frames[1], at: 2) == nil)
    #expect(pair.open(try pair.frame(), at: 2) == nil)
    #expect(pair.keys.newestGeneration == 20)
  }

  @Test func `the limit of kept keys holds through a storm of joins`() throws {
    let pair = Pair()
    for step in 0..<600 {
      pair.ratchet(1 + step % 3)
      #expect(pair.open(try pair.frame(), at: step * 50) == nil)
      #expect(pair.keys.keyCount <= GroupKeyLimits().keys)
    }
  }

  /// Names the parts whose work the tests above see.
  @Test func `an old generation's later steps end with it`() throws {
    let chain = SenderKey(generation: 0, baseKey: secretKey(1))
    let generation = ReceivedGeneration(chain.clone(), installed: instant(0))
    generation.expire(at: instant(100))
    generation.advance(along: ChainWalk(from: chain, steps: 3, keeping: 16), keeping: 16)
    #expect(generation.keyCount == 4)
    #expect(generation.forget(now: instant(100)))
  }
}
