import Calling
import Connectivity
import Cryptography
import Primitives
import SecureSession
import Testing
import Wire

@testable import Peer

@Suite struct RingBranchTests {
  private let first = PresenceID(rawValue: 1)
  private let second = PresenceID(rawValue: 2)

  private func details(_ presence: PresenceID, port: UInt16) -> RingDetails {
    RingDetails(
      ringConnectionID: UInt32(port), presence: presence,
      candidates: CandidateList([Candidate(.host, SocketAddress(v4: 192, 0, 2, 1, port: port))]))
  }

  private func callingLink(_ random: inout RandomSource) -> CallLink {
    let link = CallLink(
      CallID(from: &random), .caller, peer: .zero, peerStatic: .zero,
      program: PresenceID(rawValue: 9), limits: PeerLimits(), random: &random)
    link.path.ringIDs.local = ConnectionID(rawValue: 77)
    link.signalling.ring = ringKeys(.caller)
    return link
  }

  private func ringKeys(_ side: RingKeys.Side) -> RingKeys {
    var random = RandomSource(seed: 1000)
    return RingKeys(secret: SecretKey(random: &random), side: side)
  }

  /// A packet of the program `presence` with `count` challenges.
  private func challenges(_ count: Int, from presence: PresenceID, port: UInt32) -> [UInt8] {
    var keys = ringKeys(.callee)
    guard
      var session = keys.pathChecks(
        local: ConnectionID(rawValue: port), remote: ConnectionID(rawValue: 77),
        presence: presence)
    else { return [] }
    return [UInt8](capacity: 2048) { packet in
      Session.beginPacket(&packet)
      for token in 0..<count { PathChallengeFrame(token: UInt64(token)).write(to: &packet) }
      do { try session.seal(&packet) } catch { packet.removeAll() }
    }
  }

  @Test(arguments: [1, 2]) func `a packet with a hundred challenges counts for its own bytes once`(
    rank: Int
  ) throws {
    var random = RandomSource(seed: 4)
    let link = callingLink(&random)
    link.path.phase = .finding
    for (presence, port) in [(first, UInt16(1001)), (second, 1002)] {
      link.path.adopt(
        details(presence, port: port), keys: &link.signalling.ring, random: &random)
    }
    var packet = challenges(100, from: rank == 1 ? first : second, port: 1000 + UInt32(rank))
    let byteCount = packet.count
    #expect(byteCount > 900)
    var span = packet.mutableSpan
    var signals: [[UInt8]] = []
    let victim = SocketAddress(v4: 203, 0, 113, 9, port: 9)
    _ = link.receive(
      &span, from: victim, marks: DatagramMarks(), signals: &signals, now: .zero)
    let agent = rank == 1 ? link.path.agent : link.path.programs.branches[0].agent
    let allowed = try #require(agent.provisional)
    #expect(allowed.path.remote == victim && allowed.byteCount <= 3 * byteCount)
  }

  @Test func `the program that accepts brings its own path, whichever rang first`() {
    for winner in [first, second] {
      var random = RandomSource(seed: 1)
      let link = callingLink(&random)
      link.path.phase = .finding
      for (presence, port) in [(first, UInt16(1001)), (second, 1002), (first, 1001)] {
        link.path.adopt(
          details(presence, port: port), keys: &link.signalling.ring, random: &random)
      }
      #expect(link.path.programs.branches.map(\.presence) == [second])
      link.path.settleBranches(on: winner, random: &random)
      #expect(link.path.programs.branches.isEmpty && link.path.programs.remote == winner)
      let port: UInt16 = winner == first ? 1001 : 1002
      #expect(link.path.ringIDs.remote == ConnectionID(rawValue: UInt32(port)))
      #expect(link.path.remoteCandidates.map(\.address.port) == [port])
      let isSealable = link.path.ring != nil
      #expect(isSealable)
      // Whoever rings now rings for nothing.
      link.path.adopt(
        details(PresenceID(rawValue: 3), port: 1003), keys: &link.signalling.ring,
        random: &random)
      #expect(link.path.programs.branches.isEmpty)
    }
  }

  @Test func `paths are sought to eight programs, and no more`() {
    var random = RandomSource(seed: 2)
    let link = callingLink(&random)
    for number in UInt16(1)...20 {
      link.path.adopt(
        details(PresenceID(rawValue: UInt64(number)), port: number),
        keys: &link.signalling.ring, random: &random)
    }
    #expect(link.path.programs.branches.count == 7)
  }

  @Test func `INVITE is for every program, a probe's for any one, and the rest for the chosen`() {
    var random = RandomSource(seed: 3)
    let link = callingLink(&random)
    #expect(link.destination(of: .invite) == .every)
    #expect(link.destination(of: .cancel(.userCancelled)) == .every)
    link.probe.purpose = .probe
    #expect(link.destination(of: .invite) == .anyOne)
    link.path.settleBranches(on: second, random: &random)
    #expect(link.destination(of: .hangUp(.userHungUp, .empty)) == second)
  }
}
