import Primitives
import Testing
import Tokens
import Wire

@testable import Channels

/// What one address, one program or one member may take of a rendezvous
/// (docs/protocol/channels.md §7).
struct ChannelSharesTests {
  private let now = Instant(nanoseconds: 1_000_000_000)

  private func program(_ id: UInt64, _ presence: UInt64 = 1) -> ChannelProgram {
    ChannelProgram(
      id: PeerID(word0: id, word1: 1, word2: 1, word3: 1), presence: PresenceID(rawValue: presence))
  }

  private func source(_ id: UInt64) -> ChannelSource { ChannelSource(host: id, network: id) }

  /// Says something as `program`, whose stay has the number of its presence.
  private func say(
    _ content: ChannelRequest.Content, _ program: ChannelProgram, _ room: ChannelIdentity,
    at source: ChannelSource, _ server: inout ChannelDirectory
  ) -> [ChannelStatus] {
    server.handle(
      ChannelRequest(channel: room.id, stay: program.presence.rawValue, number: 0, content),
      from: program, at: source, mayCheck: true, unixMilliseconds: 1_000_000, now: now)
    var statuses: [ChannelStatus] = []
    while let (_, notice) = server.pollNotice() {
      if case .result(let result) = notice.content { statuses.append(result.status) }
    }
    return statuses
  }

  private func join(_ room: ChannelIdentity, uid: UInt32 = 0) -> ChannelRequest.Content {
    .join(ChannelJoin(role: .audience, uid: uid, name: room.name))
  }

  // MARK: - Memberships

  /// Method: two programs of one identity are at two addresses. One joins, and the other takes its
  /// uid, in channel after channel. Goal: neither address has more than it may.
  @Test func `a stay that replaces one of another address counts at its own`() throws {
    var limits = ChannelLimits()
    limits.perHost = 3
    var server = ChannelDirectory(limits: limits, random: RandomSource(seed: 1))
    let sources = [1, 2].map { ChannelSource(host: $0, network: 9) }
    for round in 0..<20 {
      let room = try room("c\(round)")
      for (place, source) in sources.enumerated() {
        _ = say(join(room, uid: 7), program(5, UInt64(place) + 1), room, at: source, &server)
      }
    }
    #expect(server.memberCount == 6)
    // A newer stay of the same address has the place of the one before.
    let rooms = try (0..<20).map { try room("c\($0)") }
    let taken = try #require(rooms.first { !server.members(of: $0.id).isEmpty })
    #expect(say(join(taken, uid: 7), program(5, 3), taken, at: sources[1], &server).isEmpty)
    #expect(server.memberCount == 6)
  }

  @Test func `a stay that replaces one of another network counts at its own`() throws {
    var limits = ChannelLimits()
    limits.perNetwork = 3
    var server = ChannelDirectory(limits: limits, random: RandomSource(seed: 2))
    for round in 0..<20 {
      let room = try room("c\(round)")
      for place in [1, 2] as [UInt64] {
        let source = ChannelSource(host: place, network: place)
        _ = say(join(room, uid: 7), program(5, place), room, at: source, &server)
      }
    }
    #expect(server.memberCount == 6)
  }

  // MARK: - Channels

  @Test func `an address makes so many channels, and joins those of others`() throws {
    var limits = ChannelLimits()
    limits.madePerHost = 2
    limits.madePerNetwork = 3
    var server = ChannelDirectory(limits: limits, random: RandomSource(seed: 3))
    let (one, other) = (ChannelSource(host: 1, network: 9), ChannelSource(host: 2, network: 9))
    let far = ChannelSource(host: 3, network: 10)
    let rooms = try (0..<6).map { try room("c\($0)") }
    func join(_ index: Int, _ source: ChannelSource) -> [ChannelStatus] {
      say(self.join(rooms[index]), program(source.host), rooms[index], at: source, &server)
    }
    #expect(join(0, one).isEmpty && join(1, one).isEmpty)
    #expect(join(2, one) == [.tooManyChannels])
    #expect(join(2, other).isEmpty)
    #expect(join(3, other) == [.tooManyChannels])
    #expect(join(3, far).isEmpty)
    #expect(join(3, one).isEmpty && server.channelCount == 4)
    // The channel of who has left counts for it while there is somebody in it.
    #expect(join(0, far).isEmpty)
    _ = say(.leave, program(1), rooms[0], at: one, &server)
    #expect(join(4, one) == [.tooManyChannels])
    _ = say(.leave, program(3), rooms[0], at: far, &server)
    server.handleTimeout(now: now + .seconds(1))
    #expect(server.channelCount == 3 && join(4, one).isEmpty)
  }

  // MARK: - Limits

  @Test func `no address fills a server, and a program has its channels`() {
    let limits = ChannelLimits()
    #expect(limits.madePerHost >= 4 * limits.perProgram)
    #expect(limits.madePerNetwork >= limits.madePerHost)
    #expect(limits.channels >= 4 * limits.madePerNetwork)
  }
}
