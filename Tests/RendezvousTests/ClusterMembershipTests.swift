import Channels
import Primitives
import SecureSession
import Simulation
import Testing
import Wire

@testable import Rendezvous

/// Channels whose members are at several nodes (docs/protocol/cluster.md §8): `ChannelHomes`,
/// `PassedRequest` and `PassedNotice`.
@Suite struct ClusterMembershipTests {
  private let world = ClusterWorld()
  private let clients = (UInt64(1)...2).map { TestClient($0) }
  /// Several channels: each node has some of them.
  private let channels: [ChannelIdentity]

  init() throws {
    channels = try (0..<8).map { number in
      ChannelIdentity(name: try #require(PeerName("tea-\(number)")), key: nil)
    }
    for (node, client) in clients.enumerated() { world.join(client, node) }
  }

  private func ask(
    _ client: Int, _ channel: ChannelIdentity, number: UInt32 = 0,
    _ content: ChannelRequest.Content
  ) {
    let request = ChannelRequest(
      channel: channel.id, stay: UInt64(client) + 1, number: number, content)
    clients[client].request(
      RendezvousMessage.channel(request), now: world.nodes[client].now)
    world.run(.milliseconds(200))
  }

  private func enter(_ client: Int, _ channel: ChannelIdentity) {
    let join = ChannelJoin(role: .host, uid: UInt32(client) + 5, name: channel.name)
    ask(client, channel, .join(join))
  }

  private func notices(_ client: Int, of channel: ChannelIdentity) -> [ChannelNotice.Content] {
    clients[client].messages.compactMap { message in
      guard case .channelNotice(let notice) = message else { return nil }
      return notice.channel == channel.id ? notice.content : nil
    }
  }

  private func welcome(_ client: Int, _ channel: ChannelIdentity) -> ChannelWelcome? {
    for case .welcome(let welcome) in notices(client, of: channel).reversed() { return welcome }
    return nil
  }

  /// The node that has a channel, as all of them see it.
  private func home(of channel: ChannelIdentity) throws -> Int {
    let homes = try world.nodes.map { node in
      ChannelHome(of: channel.id, try #require(node.shared), now: node.now)
    }
    let here = homes.indices.filter { homes[$0] == .here }
    #expect(here.count == 1, "\(homes)")
    return here.first ?? 0
  }

  /// Whom a client has seen come.
  private func seen(_ client: Int, in channel: ChannelIdentity) -> Set<UInt32> {
    var uids: Set<UInt32> = []
    for notice in notices(client, of: channel) {
      switch notice {
      case .roster(let page): uids.formUnion(page.members.map(\.uid))
      case .changes(let changes):
        for case .present(let member) in changes.changes { uids.insert(member.uid) }
      default: break
      }
    }
    return uids
  }

  @Test func `members at two nodes are in one channel, at whichever node it is`() throws {
    for channel in channels {
      enter(0, channel)
      enter(1, channel)
      let welcomes = try clients.indices.map { try #require(welcome($0, channel)) }
      #expect(welcomes[0].epoch == welcomes[1].epoch)
      #expect(welcomes[0].joinNumber < welcomes[1].joinNumber)
      for client in clients.indices { #expect(seen(client, in: channel) == [5, 6]) }
    }
    let homes = Set(try channels.map { try home(of: $0) })
    #expect(homes == [0, 1])
    #expect(world.nodes.reduce(0) { $0 + $1.gauges.channelMembers } == 16)
    #expect(world.nodes.reduce(0) { $0 + $1.gauges.channels } == 8)
  }

  @Test func `what Redis says again changes nothing`() throws {
    for client in clients.indices { for channel in channels { enter(client, channel) } }
    for channel in channels { ask(0, channel, .leave) }
    clients[1].messages = []
    world.redis.repeatPosts()
    world.run(.seconds(1))
    #expect(world.nodes.reduce(0) { $0 + $1.gauges.channelMembers } == 8)
    #expect(clients[1].messages.isEmpty)
  }

  /// The rest of a channel is not known then, so no roster is told.
  @Test func `without Redis nobody joins, and members keep the channels of their node`() throws {
    for channel in channels { enter(0, channel) }
    let epochs = try channels.map { try #require(welcome(0, $0)).epoch }
    let homes = try channels.map { try home(of: $0) }
    world.nodes[0].setRedis(isThere: false)
    world.run(.seconds(1))
    clients[0].messages = []
    for (channel, epoch) in zip(channels, epochs) {
      ask(0, channel, .sync(RosterPosition(epoch: epoch, revision: 1)))
    }
    for (index, channel) in channels.enumerated() {
      let head = ChannelNotice.Content.head(epoch: epochs[index], revision: 1)
      #expect(notices(0, of: channel) == (homes[index] == 0 ? [head] : []))
    }
    let other = ChannelIdentity(name: try #require(PeerName("milk")), key: nil)
    enter(0, other)
    #expect(notices(0, of: other).isEmpty)
    #expect(try #require(world.nodes[0].shared).counters.channelRequestsUnanswered > 0)
  }

  /// A member that asks for the roster of a life of the channel that is over joins again.
  @Test func `a member that knows another life of the channel is told to join again`() throws {
    for channel in channels {
      enter(0, channel)
      guard try home(of: channel) == 1 else { continue }
      let epoch = try #require(welcome(0, channel)).epoch
      ask(0, channel, .sync(RosterPosition(epoch: epoch &+ 1, revision: 1)))
      #expect(notices(0, of: channel).last == .gone(stay: 1, .lost))
      enter(0, channel)
      #expect(welcome(0, channel)?.epoch == epoch)
    }
  }

  @Test func `a node that is there no more leaves its channels to the others`() throws {
    for channel in channels { enter(0, channel) }
    let lost = try channels.filter { try home(of: $0) == 1 }
    world.kill(1)
    world.run(.seconds(5))
    for channel in lost {
      let former = try #require(welcome(0, channel))
      ask(0, channel, .sync(RosterPosition(epoch: former.epoch, revision: 1)))
      #expect(notices(0, of: channel).last == .gone(stay: 1, .lost))
      enter(0, channel)
      let newer = try #require(welcome(0, channel))
      #expect(newer.epoch != former.epoch && newer.joinNumber > former.joinNumber)
    }
    #expect(!lost.isEmpty && world.nodes[0].gauges.channelMembers == 8)
  }

  // MARK: - Parts

  @Test func `nodes that have not spoken yet stay for 3 s after a new connection`() {
    let hashes = (UInt8(1)...3).map { [UInt8](repeating: $0, count: 16) }
    let at = { (seconds: Int64) in Instant.zero + .seconds(1000 + seconds) }
    var homes = ChannelHomes()
    homes.handle([hashes[0]], isNew: true, sent: at(0))
    homes.handle(hashes, isNew: false, sent: at(1))
    #expect(homes.nodes == hashes && homes.version == 2)
    homes.handle([hashes[0]], isNew: true, sent: at(2))
    #expect(homes.nodes == hashes && homes.version == 2)
    for second in 4...5 {
      #expect(homes.nodes == hashes && homes.version == 2)
      homes.handle([hashes[0], hashes[2]], isNew: false, sent: at(Int64(second)))
    }
    #expect(homes.nodes == [hashes[0], hashes[2]] && homes.version == 3)
    #expect(homes.isFresh(now: at(7)) && !homes.isFresh(now: at(8)))
    // It was out of touch.
    homes.handle([hashes[0]], isNew: false, sent: at(9))
    #expect(homes.nodes == [hashes[0], hashes[2]])
  }

  @Test func `channels are shared out evenly, and a node that goes moves none but its own`() {
    let hashes = (UInt8(1)...3).map { [UInt8](repeating: $0 &* 77, count: 16) }
    var (all, rest) = (ChannelHomes(), ChannelHomes())
    all.handle(hashes, isNew: true, sent: .zero)
    rest.handle(Array(hashes.dropLast()), isNew: true, sent: .zero)
    var counts: [[UInt8]: Int] = [:]
    for mark in 0..<UInt64(3000) {
      let word = mark &* 0x9E37_79B9_7F4A_7C15
      let home = all.home(of: word) ?? []
      counts[home, default: 0] += 1
      if home != hashes[2] { #expect(rest.home(of: word) == home) }
    }
    #expect(counts.values.allSatisfy { (900...1100).contains($0) }, "\(counts)")
  }

  @Test func `the same notice for programs of one node goes there once`() {
    var passage = NoticePassage()
    let notice = ChannelNotice(channel: .zero, .head(epoch: 1, revision: 2))
    let other = ChannelNotice(channel: .zero, .head(epoch: 1, revision: 3))
    for number in 0..<UInt64(65) {
      let program = ChannelProgram(id: .zero, presence: PresenceID(rawValue: number), node: 7)
      let full = passage.append(notice, to: program, number: number, from: 9)
      #expect((full?.0.programs.count ?? 0) == (number == 64 ? 64 : 0))
    }
    let program = ChannelProgram(id: .zero, presence: PresenceID(rawValue: 70), node: 7)
    #expect(passage.append(other, to: program, number: 70, from: 9)?.0.notice == notice)
    #expect(passage.rest.map(\.0.notice) == [other])
  }
}
