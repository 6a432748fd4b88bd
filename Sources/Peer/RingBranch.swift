import Calling
import Connectivity
import Primitives
import SecureSession
import Wire

/// Path finding to one of the callee's programs that ring, while another one has the call's own
/// place (docs/protocol/calling.md §4). The one that accepts moves into that place with all that it
/// has found.
final class RingBranch {
  let presence: PresenceID
  let remoteRingID: ConnectionID
  var session: RingSession?
  var agent: Agent
  var candidates: [Candidate]

  init(
    _ presence: PresenceID, remoteRingID: ConnectionID, session: consuming RingSession?,
    agent: Agent, candidates: [Candidate]
  ) {
    self.presence = presence
    self.remoteRingID = remoteRingID
    self.session = session
    self.agent = agent
    self.candidates = candidates
  }
}

/// Which programs a call is between, and, while it rings at several, the paths to them.
struct CallPrograms {
  /// This one.
  let own: PresenceID
  /// The one that the call is with: the caller's, or the callee's that accepted; `every` before.
  var remote = PresenceID.every
  /// The callee's program whose path has the call's own place: the first that rang, then the one
  /// that accepted.
  var first: PresenceID?
  /// The others that ring.
  var branches: [RingBranch] = []
  /// The user knows of a path.
  var hasToldPath = false

  init(own: PresenceID) { self.own = own }
}

/// The caller's table of the callee's programs that ring.
extension CallPath {
  /// Whether what goes to a program may go on the call's own path.
  func isOnPath(_ program: PresenceID) -> Bool {
    role == .callee || program == .every || program == programs.first
  }

  /// Takes what a program says when it rings.
  mutating func adopt(
    _ details: RingDetails, keys: inout RingKeys?, random: inout RandomSource
  ) {
    let ringID = ConnectionID(rawValue: details.ringConnectionID)
    let candidates = details.candidates.candidates
    guard programs.remote == .every || programs.remote == details.presence else { return }
    if ringIDs.remote == .none, programs.first == nil || programs.first == details.presence {
      programs.first = details.presence
      ringIDs.remote = ringID
      openRing(with: details.presence, keys: &keys)
    }
    if details.presence == programs.first {
      if !candidates.isEmpty { remoteCandidates = candidates }
      return
    }
    guard !programs.branches.contains(where: { $0.presence == details.presence }),
      programs.branches.count < RingKeys.programLimit - 1
    else { return }
    let branch = RingBranch(
      details.presence, remoteRingID: ringID,
      session: keys?.pathChecks(
        local: ringIDs.local, remote: ringID, presence: details.presence),
      agent: Agent(random: random.split()), candidates: candidates)
    programs.branches.append(branch)
  }

  /// The program that accepted takes the call's own place; the others' paths are of no use.
  mutating func settleBranches(on presence: PresenceID, random: inout RandomSource) {
    programs.remote = presence
    defer { programs.branches = [] }
    guard presence != programs.first else { return }
    let hadFirst = programs.first != nil
    programs.first = presence
    if let branch = programs.branches.first(where: { $0.presence == presence }) {
      ringIDs.remote = branch.remoteRingID
      remoteCandidates = branch.candidates
      agent = branch.agent
      ring = branch.session.take()
    } else if hadFirst {
      // It accepted before its RINGING came: it is known by its answer alone.
      ringIDs.remote = .none
      remoteCandidates = []
      agent = Agent(random: random.split())
      ring = nil
    }
    changes = agent.found.map { [$0] } ?? []
  }

  /// The next check of a program that is not in the call's own place.
  @_lifetime(packet: copy packet)
  func writeBranchCheck(
    into packet: inout OutputSpan<UInt8>, now: Instant
  ) -> DatagramPath? {
    guard isFinding else { return nil }
    for branch in programs.branches where branch.session != nil {
      let destination: DatagramPath
      if let response = branch.agent.pollResponse() {
        Session.beginPacket(&packet)
        PathResponseFrame(token: response.token, observed: response.path.remote).write(to: &packet)
        destination = response.path
      } else if let check = branch.agent.pollCheck(now: now) {
        Session.beginPacket(&packet)
        PathChallengeFrame(token: check.token).write(to: &packet)
        destination = check.path
      } else {
        continue
      }
      do throws(SessionError) {
        try branch.session?.seal(&packet)
        return destination
      } catch {
        packet.removeAll()
      }
    }
    return nil
  }

  /// Takes a packet under the ring keys of a program that is not in the call's own place.
  func receiveBranch(
    _ bytes: [UInt8], from source: SocketAddress, to local: LocalAddressID,
    signals: inout [[UInt8]], now: Instant
  ) -> CallLink.Findings {
    for branch in programs.branches {
      // What does not open is of no use afterwards.
      var copy = bytes
      var span = copy.mutableSpan
      guard let frames = open(&span, of: branch) else { continue }
      return read(
        span.span.extracting(frames), of: branch, from: source, to: local, signals: &signals,
        now: now)
    }
    return []
  }

  @_lifetime(bytes: copy bytes)
  private func open(_ bytes: inout MutableSpan<UInt8>, of branch: RingBranch) -> Range<Int>? {
    do throws(SessionError) {
      return try branch.session?.open(&bytes)
    } catch {
      return nil
    }
  }

  private func read(
    _ packet: Span<UInt8>, of branch: RingBranch, from source: SocketAddress,
    to local: LocalAddressID, signals: inout [[UInt8]], now: Instant
  ) -> CallLink.Findings {
    var findings = CallLink.Findings()
    var byteCount = packet.count + SealedPacket.minimumByteCount
    var reader = FrameReader(packet)
    do throws(WireError) {
      while let frame = try reader.next() {
        switch frame {
        case .pathChallenge(let challenge) where isFinding:
          branch.agent.handleChallenge(
            token: challenge.token, from: source, to: local, byteCount: byteCount, now: now)
          // The packet stands for its first challenge only.
          byteCount = 0
        case .pathResponse(let response):
          _ = branch.agent.handleResponse(
            token: response.token, from: source, to: local, seenAs: response.observed, now: now)
        case .signal(let body):
          signals.append(Array(copying: packet.bytes(at: body)))
          findings.insert(.signal)
        case .padding, .pathChallenge: break
        default: return findings
        }
      }
    } catch {
      return findings
    }
    return findings
  }

  /// When a branch next has something to send.
  var branchDeadline: Instant? {
    guard isFinding else { return nil }
    return programs.branches.reduce(nil) { earliest($0, $1.agent.nextDeadline) }
  }

  func handleBranchTimeout(now: Instant) {
    for branch in programs.branches { _ = branch.agent.handleTimeout(now: now) }
  }
}
