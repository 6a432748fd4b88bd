import AllocationCounter
import Glibc
import GroupKeys
import Primitives
import SecureSession
import Wire

/// Prints one line of JSON for each length of frame.
enum SFramePathProgram {
  static let usage = """
    usage: SFramePath [--frames N] [--rounds N]

    Frames of 80 and 1100 bytes sealed by one GroupKeyMachine and opened by another: thread CPU time
    a frame, calls of malloc and its kin, and bytes above the codec. The least of the rounds counts:
    others use the host too. OPENSSL_ia32cap=~0x200000200000000 takes away the AES instructions.
    The last line is of envelopes: what handing a key to one member takes at either end.

    """

  static func run(_ words: [String]) -> Int32 {
    guard words.count % 2 == 0, let frames = number("--frames", words, 50_000),
      let rounds = number("--rounds", words, 5), var pair = ChannelPair.make()
    else {
      print(usage, terminator: "")
      return 2
    }
    for byteCount in [80, 1100] {
      var best = (seal: Double.infinity, open: Double.infinity)
      var allocations: UInt64 = 0
      var overhead = 0
      for round in 0..<rounds {
        guard let cost = pair.measure(byteCount: byteCount, frames: frames) else { return 1 }
        best = (min(best.seal, cost.seal), min(best.open, cost.open))
        if round > 0 { allocations = max(allocations, cost.allocations) }
        overhead = cost.overhead
      }
      print(
        "{\"bytes\": \(byteCount), \"overhead\": \(overhead), "
          + "\"sealNs\": \(Int(best.seal)), \"openNs\": \(Int(best.open)), "
          + "\"allocations\": \(allocations), \"frames\": \(frames)}")
    }
    guard let envelope = EnvelopeCost.measure(count: 500) else { return 1 }
    print(
      "{\"name\": \"envelope\", \"bytes\": \(KeyMessage.maximumByteCount), "
        + "\"sealNs\": \(Int(envelope.seal)), \"openNs\": \(Int(envelope.open))}")
    return 0
  }

  /// At least 1; `nil` for what is none.
  private static func number(_ name: String, _ words: [String], _ usual: Int) -> Int? {
    guard let place = words.firstIndex(of: name) else { return usual }
    return words.dropFirst(place + 1).first.flatMap(Int.init).flatMap { $0 > 0 ? $0 : nil }
  }

  static func threadNanoseconds() -> UInt64 {
    var time = timespec()
    _ = unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

/// Two members of a channel: one publishes, one listens.
struct ChannelPair: ~Copyable {
  struct Cost {
    let seal: Double
    let open: Double
    let allocations: UInt64
    let overhead: Int
  }

  private var host: GroupKeyMachine
  private var listener: GroupKeyMachine
  private let now = Instant(nanoseconds: 1_000_000_000)
  static let wall: UInt64 = 1_790_000_000

  private init(host: consuming GroupKeyMachine, listener: consuming GroupKeyMachine) {
    self.host = host
    self.listener = listener
  }

  static func make() -> ChannelPair? {
    var random = RandomSource(seed: 1)
    let now = Instant(nanoseconds: 1_000_000_000)
    var first = LocalIdentity(kind: .peer, unixSeconds: Self.wall, random: &random)
    var second = LocalIdentity(kind: .peer, unixSeconds: Self.wall, random: &random)
    guard let one = Self.member(1, .host, &first), let two = Self.member(2, .audience, &second)
    else { return nil }
    var host = GroupKeyMachine(channel: .zero, member: one, random: random.split())
    var listener = GroupKeyMachine(channel: .zero, member: two, random: random.split())
    do {
      try host.handleJoin(two, revision: 1, now: now)
      try listener.handleJoin(one, revision: 1, now: now)
      host.startPublishing()
      while let message = host.pollMessage(identity: first, now: now) {
        try listener.handleMessage(message.bytes.span, from: 1, identity: second, now: now)
      }
    } catch {
      print("no key came: \(error)")
    }
    return ChannelPair(host: host, listener: listener)
  }

  static func member(
    _ uid: UInt32, _ role: MemberRole, _ identity: inout LocalIdentity
  ) -> VerifiedMember? {
    guard let card = try? identity.makeCard(unixSeconds: wall) else { return nil }
    let claim = MemberClaim(uid: uid, role: role, joinNumber: UInt64(uid), card: card)
    return try? VerifiedMember(verifying: claim, by: .open, unixMilliseconds: wall * 1000)
  }

  /// Frames sealed, then opened, 256 at a time.
  mutating func measure(byteCount: Int, frames: Int) -> Cost? {
    let room = GroupKeyMachine.headerRoom + byteCount + GroupKeyMachine.tagByteCount
    let text = GroupKeyMachine.headerRoom..<(GroupKeyMachine.headerRoom + byteCount)
    // One buffer each from the start: the first write to a shared one would copy it.
    var batch = (0..<256).map { _ in Array(repeating: UInt8(7), count: room) }
    var places = Array(repeating: 0..<0, count: 256)
    let metadata: [UInt8] = [1, 2, 3, 4, 5]
    var (sealing, opening): (UInt64, UInt64) = (0, 0)
    let allocationsBefore = allocation_total()
    var done = 0
    do {
      while done < frames {
        let start = SFramePathProgram.threadNanoseconds()
        for index in batch.indices {
          var span = batch[index].mutableSpan
          places[index] = try host.seal(&span, text: text, metadata: metadata.span)
        }
        let middle = SFramePathProgram.threadNanoseconds()
        for index in batch.indices {
          var span = batch[index].mutableSpan
          _ = try listener.open(
            &span, at: places[index], from: 1, metadata: metadata.span, now: now)
        }
        sealing += middle - start
        opening += SFramePathProgram.threadNanoseconds() - middle
        done += batch.count
      }
    } catch {
      print("a frame was not opened: \(error)")
      return nil
    }
    return Cost(
      seal: Double(sealing) / Double(done), open: Double(opening) / Double(done),
      allocations: allocation_total() - allocationsBefore,
      overhead: places.map { $0.count - byteCount }.max() ?? 0)
  }
}
