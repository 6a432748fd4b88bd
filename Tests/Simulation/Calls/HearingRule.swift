import Calling
import Primitives
import Wire

/// What a user asks of a call: while its path carries, both ears hear.
///
/// Looked at four times a second. Once the line has carried both ways for `patience`, each side has
/// heard the other within that time, or the call has ended. Left out: a side that says that it
/// sends nothing, and calls in which an address changed.
struct HearingRule {
  /// Since when the line of a call has carried both ways.
  var carriedSince: [CallID: Instant] = [:]
  /// How much of the time since then, or since both were last heard, fell into bursts that lose
  /// all: the line carries nothing in them.
  var burstTime: [CallID: Duration] = [:]
  /// Calls whose breach was reported.
  var reported: [CallID] = []
  var isWatching = false

  /// From the line's return until both are heard.
  static let patience = Duration.seconds(1)
  static let interval = Duration.milliseconds(250)
  /// So many frames of a lossy line may be missing on top.
  static let lossyFrames = 10
}

extension CallWorld {
  /// Begins to look, with the first connected call of the world.
  func watchHearing() {
    guard !hearing.isWatching else { return }
    hearing.isWatching = true
    planHearing()
  }

  private func planHearing() {
    simulator.plan(after: HearingRule.interval) { [weak self] in
      guard let self else { return }
      lookAtHearing()
      planHearing()
    }
  }

  private func lookAtHearing() {
    for side in testimony.sides where side.isCaller {
      guard let callee = testimony.sides.first(where: { $0.call == side.call && !$0.isCaller })
      else { continue }
      look(side, callee)
    }
  }

  private func look(_ caller: Testimony.Side, _ callee: Testimony.Side) {
    let call = caller.call
    guard let connected = caller.time(of: .connected), let other = callee.time(of: .connected),
      caller.isOpen, callee.isOpen, network.carries(from: caller.host, to: callee.host),
      network.carries(from: callee.host, to: caller.host),
      !hasMoved(caller.host, since: connected), !hasMoved(callee.host, since: other)
    else {
      hearing.carriedSince[call] = nil
      hearing.burstTime[call] = nil
      return
    }
    if network.losesAll(caller.host, callee.host) {
      hearing.burstTime[call, default: .zero] += HearingRule.interval
    }
    let since = hearing.carriedSince[call] ?? now
    hearing.carriedSince[call] = since
    let usual = patience(caller.host, callee.host)
    let patience = usual + (hearing.burstTime[call] ?? .zero)
    guard now >= since + patience, !hearing.reported.contains(call) else { return }
    var areHeard = true
    for (ear, mouth) in [(caller.host, callee.host), (callee.host, caller.host)] {
      guard let listener = peer(at: ear), let speaker = peer(at: mouth), !speaker.isSilent,
        speaker.pumping.contains(call)
      else { continue }
      let last = listener.lastHeard[call] ?? .zero
      if last + usual < now { areHeard = false }
      guard last + patience < now else { continue }
      hearing.reported.append(call)
      testimony.report(
        "\(call): the line carries since \(since.nanoseconds / 1_000_000) ms, and at "
          + "\(now.nanoseconds / 1_000_000) ms \(listener.name) hears nothing since "
          + "\(last.nanoseconds / 1_000_000) ms")
    }
    if areHeard { hearing.burstTime[call] = nil }
  }

  /// "Resumed" is said of what is heard, not of packets.
  func checkResumed(_ call: CallID, at peer: SimulatedPeer) {
    guard
      let other = testimony.sides.first(where: { $0.call == call && $0.host != peer.hostID })?.host,
      let speaker = self.peer(at: other), !speaker.isSilent, speaker.pumping.contains(call)
    else { return }
    let last = peer.lastHeard[call] ?? .zero
    guard last + mediaInterval < now else { return }
    testimony.report("\(call): \(peer.name) is told resumed, and hears nothing")
  }

  private func hasMoved(_ host: SimulatedNetwork.HostID, since start: Instant) -> Bool {
    network.lastAddressChange(of: host).map { $0 >= start } ?? false
  }

  private func peer(at host: SimulatedNetwork.HostID) -> SimulatedPeer? {
    peers.first { $0.hostID == host }
  }

  private func patience(
    _ one: SimulatedNetwork.HostID, _ other: SimulatedNetwork.HostID
  ) -> Duration {
    var patience = HearingRule.patience + mediaInterval
    for host in [one, other] {
      let line = network.conditions(of: network.site(of: host))
      // There and back, and once more for what asks.
      patience += (line.up.delay + line.down.delay) * 2
      if line.up.loses || line.down.loses { patience += mediaInterval * HearingRule.lossyFrames }
    }
    return patience
  }
}
