import Calling
import Peer
import Primitives
import Simulation
import Testing
import Wire

@testable import Earshot

/// A program on the library, in simulated time: its peer, the media of its calls, and all that the
/// library would tell, in words. What the endpoint does on its loop is done here: the parts are the
/// endpoint's own (`CallRecord`, `AudioPipeline`, `VideoSending`, `VideoReceiving`).
final class SimulatedProgram {
  let name: String
  let peer: SimulatedPeer
  /// What it calls and answers with.
  var options: CallOptions
  /// `nil` never answers.
  var answersAfter: Duration? = .seconds(1)
  /// Says of each set of numbers that it came, or what it grades.
  var tells = Numbers.nothing
  private(set) var told: [(at: Instant, text: String)] = []
  private(set) var numbers: [(at: Instant, call: Wire.CallID, numbers: CallStatistics)] = []
  private(set) var media: [Wire.CallID: ProgramMedia] = [:]
  private(set) var records: [Wire.CallID: CallRecord] = [:]
  private(set) var reports: [(at: Instant, report: VolumeReport)] = []
  private var volumes = VolumeTeller()
  private var schedule = StatisticsSchedule<Wire.CallID>()
  private let world: CallWorld
  /// What a call is called, where there are several.
  var names: [Wire.CallID: String] = [:]

  enum Numbers { case nothing, coming, grades }

  init(_ peer: SimulatedPeer, in world: CallWorld, _ options: CallOptions) {
    self.peer = peer
    self.world = world
    self.options = options
    name = String(peer.name.description.prefix { $0 != "-" })
    peer.isSilent = true
    peer.habits.answer = .never
    world.mediaInterval = .seconds(86_400)
    let before = peer.host.observe
    peer.host.observe = { [unowned self] event, now in
      // The simulated person would take the frames away.
      if case .link(_, .audioArrived) = event { return }
      before?(event, now)
      observe(event)
    }
    tick()
  }

  private var now: Instant { peer.host.clock.local(world.now) }

  // MARK: - The user

  func call(_ other: SimulatedProgram) throws -> Wire.CallID {
    let record = CallRecord(.caller, options, target: nil, began: now)
    let invite = InviteOptions(options)
    let id = try peer.host.command(now: world.now) { machine, now throws(PeerRefusal) in
      let id = try machine.invite(.id(other.peer.id), invite, now: now)
      // The simulated person keeps count of calls.
      world.testimony.begin(id, at: peer.hostID, isCaller: true, now: world.now)
      return id
    }
    let made = try #require(id)
    records[made] = record
    (names[made], other.names[made]) = (other.name, name)
    tell("calling, localInvite", made)
    return made
  }

  func end(_ id: Wire.CallID) { peer.end(id) }

  func switchMedia(
    _ id: Wire.CallID, _ change: (inout MediaSwitches) -> Void
  ) throws {
    let record = try #require(records[id])
    var changed = record.switches
    change(&changed)
    try record.check(changed)
    let steps = try peer.host.command(now: world.now) { machine, now throws(PeerRefusal) in
      if record.options.source != nil || changed.audio.isSilent {
        try machine.setAudioMuted(id, changed.audio.isSilent, now: now)
      }
      try machine.change(id, now: now) { record.apply(changed, to: $0, now: now) }
      return record.adopt(changed, now: now)
    }
    tell(steps ?? [], id)
  }

  /// As `Call.setRemoteVideoStream` and its like do.
  func changeVideo(_ id: Wire.CallID, _ body: (inout CallOptions) -> Void) throws {
    let record = try #require(records[id])
    body(&record.options)
    try peer.host.command(now: world.now) { machine, now throws(PeerRefusal) in
      try machine.change(id, now: now) { $0.applyOptions(record.options) }
    }
  }

  func send(_ bytes: [UInt8], stream: UInt8, on id: Wire.CallID) throws {
    let record = try #require(records[id])
    let message = try record.data.message(bytes, stream: stream, heard: nil)
    _ = try peer.host.command(now: world.now) { machine, now throws(PeerRefusal) in
      try machine.send(message, on: id, now: now)
    }
  }

  // MARK: - The endpoint

  private func tick() {
    let due = Array(schedule.popDue(at: now))
    let told = peer.host.command(now: world.now) { machine, now in
      var told: [(Wire.CallID, [String])] = []
      for id in media.keys.sorted() {
        if let texts = media[id]?.tick(&machine, now: now) { told.append((id, texts)) }
      }
      for id in due {
        guard let numbers = media[id]?.numbers(&machine, now: now) else { continue }
        self.numbers.append((world.now, id, numbers))
        if let text = text(of: numbers) { told.append((id, [text])) }
      }
      return told
    }
    for (id, texts) in told ?? [] { for text in texts { tell(text, id) } }
    world.simulator.plan(after: .milliseconds(5)) { [weak self] in self?.tick() }
  }

  private func observe(_ event: PeerEvent) {
    switch event {
    case .calling(let event): observe(event)
    case .link(let id, let step): observe(step, id)
    case .unresolved(let id, let failure): tell("unresolved, \(failure)", id)
    case .registration(.registered): note("registered")
    case .registration(let step): note("registration: \(step)")
    case .probe(let progress): note("probe: \(progress.word)")
    case .rendezvousIdentified, .rendezvousNodes, .nameReceipt, .relaysOffered: break
    case .token, .relay, .relayStream, .channel, .memberChecked: note("\(event)")
    }
  }

  private func observe(_ event: CallEvent) {
    switch event {
    case .incoming(let id, _):
      tell("incoming call", id)
      guard let answersAfter else { return }
      world.simulator.plan(after: answersAfter) { [weak self] in self?.accept(id) }
    case .stateChanged(let id, let state, let cause):
      // Who calls has heard of it.
      if state == .calling, cause == .localCall { return }
      guard let state = Earshot.CallState(state) else { return }
      tell("\(state), \(CallStateReason(cause))", id)
    case .remoteMediaChanged(let id, let state):
      tell(records[id]?.handleMediaState(state, now: now) ?? [], id)
    case .ended(let summary):
      let id = summary.callID
      media[id] = nil
      schedule.end(id)
      tell(records[id]?.streams.end(now: now) ?? [], id)
      tell("ended, \(summary.outcome), \(CallStateReason(summary.cause))", id)
      records[id] = nil
    case .replaced(let id, _), .refused(let id, _, _): tell("\(event)", id)
    case .delivered(let id), .interrupted(let id), .connectionLost(let id), .resumed(let id),
      .away(let id, _), .rejoined(let id, _):
      tell(CallProgress(event).map { [$0] } ?? [], id)
    }
  }

  private func observe(_ step: LinkStep, _ id: Wire.CallID) {
    switch step {
    case .peerFound, .audioArrived, .videoArrived: break
    case .invitation: records[id] = CallRecord(.callee, options, target: nil, began: now)
    case .answered: tell("answered", id)
    case .mediaMayFlow: begin(id)
    case .mediaMustStop: media[id] = nil
    case .messageReceived(let stream, let bytes, _):
      messages.append((stream, bytes))
      tell("message of \(bytes.count) bytes, stream \(stream)", id)
    default: tell(records[id]?.handle(step, now: now) ?? [], id)
    }
  }

  /// As `Endpoint.setVolumeIndication` has them told from now on.
  func tellVolumes(each interval: Duration) {
    volumes.set(VolumeIndication(interval: interval, smoothing: 0))
    world.simulator.plan(after: interval) { [weak self] in self?.tellVolumesOnce(interval) }
  }

  private func tellVolumesOnce(_ interval: Duration) {
    let sources = media.keys.sorted().compactMap { id in
      media[id].map { media in
        VolumeTeller.Source(
          party: .call(CallID(id)), sums: media.sums, isMuted: media.record.options.startsMuted,
          isRemoteMuted: media.record.streams.isRemoteAudioMuted)
      }
    }
    let told = volumes.report(sources, now: now)
    var words: [String] = []
    for report in told.reports {
      self.reports.append((world.now, report))
      let others = report.speakers.compactMap { $0.call.flatMap { names[$0.wire] } }
      words.append(report.isLocal ? "own" : others.joined(separator: ", "))
    }
    note("volumes: \(words.joined(separator: "; "))")
    if let speaker = told.speaker?.call { note("active speaker: \(names[speaker.wire] ?? "?")") }
    world.simulator.plan(after: interval) { [weak self] in self?.tellVolumesOnce(interval) }
  }

  /// What came, by stream, in order.
  private(set) var messages: [(stream: UInt8, bytes: [UInt8])] = []

  private func accept(_ id: Wire.CallID) {
    guard let record = records[id] else { return }
    record.applyOptions(options)
    let answer = AnswerOptions(options)
    do {
      _ = try peer.host.command(now: world.now) { machine, now throws(PeerRefusal) in
        try machine.accept(id, answer, now: now)
      }
    } catch {
      tell("cannot accept: \(error)", id)
    }
  }

  private func begin(_ id: Wire.CallID) {
    guard let record = records[id], media[id] == nil else { return }
    tell(record.streams.begin(record.options.streams, now: now), id)
    do {
      media[id] = try ProgramMedia(record, id, now: now)
      schedule.begin(id, now: now)
      try peer.host.command(now: world.now) { machine, now throws(PeerRefusal) in
        try machine.change(id, now: now) { media in
          record.apply(record.switches, to: media, now: now)
          media.applyOptions(record.options)
        }
      }
    } catch {
      tell("no media: \(error)", id)
    }
  }

  // MARK: - The words

  func note(_ text: String) { told.append((world.now, text)) }

  private func tell(_ steps: [CallProgress], _ id: Wire.CallID) {
    for step in steps { tell(Self.text(of: step), id) }
  }

  private func tell(_ text: String, _ id: Wire.CallID) {
    let isAlone = Set(names.values).count < 2
    note(isAlone ? text : "\(names[id] ?? "?"): \(text)")
  }

  private func text(of numbers: CallStatistics) -> String? {
    switch tells {
    case .nothing: nil
    case .coming: "numbers"
    case .grades:
      """
      sends \(numbers.qualityTx), receives \(numbers.qualityRx); \
      the other side sends \(numbers.remoteQualityTx.map { "\($0)" } ?? "?"), \
      receives \(numbers.remoteQualityRx.map { "\($0)" } ?? "?")
      """
    }
  }

  static func text(of step: CallProgress) -> String {
    switch step {
    case .streamChanged(let change):
      "\(change.stream): \(change.old) to \(change.new), \(change.reason)"
    case .pathReady(let kind, _): "path ready, \(kind)"
    case .pathChanged(let kind, _): "path changed, \(kind)"
    case .shortCode: "short code"
    case .fallback(let change):
      """
      fallback, \(change.direction), \(change.isAudioOnly ? "audio alone" : "video"), \
      \(change.reason)
      """
    case .messageDelivery(_, let isDelivered): "message \(isDelivered ? "delivered" : "given up")"
    default:
      "\(step)".replacing(/(Earshot|VideoRotation|VideoStreamKind)\./, with: "")
    }
  }
}
