internal import Cryptography
internal import Primitives
internal import SecureSession

/// The keys that one sender has handed us, and which of its frames were opened.
///
/// A frame of a later ratchet step moves the chain forward once it has opened, never before: the
/// header that asks for it is not proven.
final class ReceivedKeys {
  private let limits: GroupKeyLimits
  /// Oldest first; at most `limits.generations`.
  private var generations: [ReceivedGeneration] = []
  /// Generations below this one are over: an envelope that comes again brings none of them back.
  private var lowestGeneration: UInt32 = 0
  /// Ratchet steps that were walked for frames since `walkedSince`.
  private var walkedSteps = 0
  private var walkedSince = Instant.zero

  init(limits: GroupKeyLimits) { self.limits = limits }

  /// What became of a key that came.
  enum Outcome: Equatable { case installed, known, stale }

  /// Takes in a key whose envelope has opened.
  func install(_ key: consuming SenderKey, now: Instant) -> Outcome {
    forget(now: now)
    if let place = generations.firstIndex(where: { $0.number == key.generation }) {
      return generations[place].replaceIfFar(key) ? .installed : .known
    }
    guard key.generation >= lowestGeneration else { return .stale }
    let place = generations.firstIndex { $0.number > key.generation } ?? generations.count
    let isNewest = place == generations.count
    if isNewest {
      for generation in generations { generation.expire(at: now + limits.generationLife) }
    }
    let generation = ReceivedGeneration(key, installed: now)
    if !isNewest { generation.expire(at: now + limits.generationLife) }
    generations.insert(generation, at: place)
    dropSurplus()
    return .installed
  }

  /// Opens the frame at `place` of `packet`, in place; where its plain text stands.
  @_lifetime(packet: copy packet)
  func open(
    _ packet: inout MutableSpan<UInt8>, at place: Range<Int>, metadata: Span<UInt8>, now: Instant,
    with aes: borrowing AESCounterMode
  ) throws(SFrameError) -> Range<Int> {
    guard place.lowerBound >= 0, place.upperBound <= packet.count else { throw .wrongLength }
    let (header, count) = try Self.header(packet.span.extracting(place))
    if let due = nextExpiry, due <= now { forget(now: now) }
    let number = header.keyID >> 8
    guard let index = generations.lastIndex(where: { UInt64($0.number) == number }) else {
      throw number < UInt64(lowestGeneration) ? .tooOld : .unknownKey
    }
    let generation = generations[index]
    let low = UInt32(truncatingIfNeeded: header.keyID & 0xFF)
    let text: Range<Int>
    let key: ReceivedKey
    if let known = generation.key(lowStep: low) {
      key = known
      text = try key.open(
        &packet, at: place, header: header, headerByteCount: count, metadata: metadata, with: aes)
    } else {
      let steps = (low &- generation.chain.step) & 0xFF
      try countSteps(steps, now: now)
      let walk = ChainWalk(from: generation.chain, steps: steps, keeping: limits.keys)
      key = walk.key
      text = try key.open(
        &packet, at: place, header: header, headerByteCount: count, metadata: metadata, with: aes)
      generation.advance(along: walk, keeping: limits.keys)
    }
    if key.markOpened() { supersede(before: index, generation, step: key.step, now: now) }
    return text
  }

  /// Erases what is over.
  func forget(now: Instant) {
    for generation in generations {
      if generation.forget(now: now) {
        lowestGeneration = max(lowestGeneration, generation.number &+ 1)
      }
    }
    generations.removeAll { $0.isEmpty }
    if let newest = generations.last, newest.installed + limits.generationLife <= now {
      lowestGeneration = max(lowestGeneration, newest.number)
    }
  }

  /// Its sender publishes no more: all keys are erased, and only those of a later generation are
  /// taken in from now on.
  func close() {
    if let newest = generations.last {
      lowestGeneration = max(lowestGeneration, newest.number &+ 1)
    }
    generations = []
  }

  /// When `forget` next has something to erase.
  var nextExpiry: Instant? {
    generations.reduce(nil) { earliest($0, $1.nextExpiry) }
  }

  /// The newest generation that has come; `nil` before the first.
  var newestGeneration: UInt32? { generations.last?.number }

  /// Keys that are held now, for tests of what is erased.
  var keyCount: Int { generations.reduce(0) { $0 + $1.keyCount } }

  private static func header(
    _ frame: Span<UInt8>
  ) throws(SFrameError) -> (SFrameHeader, Int) {
    var reader = ByteReader(frame)
    do throws(WireError) {
      let header = try SFrameHeader(parsing: &reader)
      return (header, reader.offset)
    } catch {
      throw .malformed
    }
  }

  /// A frame has opened under a newer key: what is older goes when stragglers have come.
  private func supersede(
    before place: Int, _ generation: ReceivedGeneration, step: UInt32, now: Instant
  ) {
    let end = now + limits.keyLife
    for index in 0..<place { generations[index].expire(at: end) }
    generation.expire(before: step, at: end)
  }

  /// The first that was never used and is not the newest goes, else the oldest.
  private func dropSurplus() {
    while generations.count > max(2, limits.generations) {
      let unused = generations.dropLast().firstIndex { !$0.wasUsed }
      generations.remove(at: unused ?? 0)
    }
  }

  /// A frame leads so many steps ahead of the chain, which are walked now. They count whether it
  /// opens or not: its sender can make such frames without end, and so can a relay.
  private func countSteps(_ steps: UInt32, now: Instant) throws(SFrameError) {
    guard (1...GroupKeyLimits.stepsAhead).contains(steps) else { throw .tooOld }
    if now - walkedSince >= .seconds(1) {
      walkedSince = now
      walkedSteps = 0
    }
    guard walkedSteps + Int(steps) <= limits.steps else { throw .limited }
    walkedSteps += Int(steps)
  }
}
