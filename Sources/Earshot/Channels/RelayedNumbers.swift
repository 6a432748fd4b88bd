internal import Audio
internal import Congestion
internal import Peer
internal import Primitives
internal import Reactor

/// What is told of a seat at a relay each 2 s, and at its end. On the loop's thread.
struct RelayedNumbers {
  typealias Driver = MachineDriver<ChannelRelayMachine>

  /// Of one row, as it was told last.
  private struct Row {
    var told = ToldNumbers()
    var grader = CallGrader()
    var heard: UInt64 = 0
    /// Its first numbers are of a former seat as well: they grade nothing.
    var isInherited = false
  }

  /// Of the loop that tells them.
  private(set) var timer: EventLoop.Token?
  /// Nothing comes from the relay.
  var isLost = false
  private var began = SystemClock.now
  private var own = Row()
  private var hosts: [UInt32: Row] = [:]
  private var gone: [RelayStatistics.Host] = []
  private var fallbacks: [FallbackChange] = []
  private var network = NetworkHistory()
  private var usage = HostUsageMeter()
  private var arrivals = ArrivalCount()
  /// Packets of the relay, by their numbers.
  private var line = CallStatistics.Fates.Count()
  /// Frames by seats that were left.
  private var frames = Frames()

  private struct Frames {
    var sent: UInt64 = 0
    var opened: UInt64 = 0
    var unopened: UInt64 = 0
  }

  static let interval = Duration.seconds(2)

  // MARK: - Inputs

  /// There is a seat, or another one.
  ///
  /// - Parameter playing: Hosts that were heard before; their pipelines count on.
  mutating func begin(
    on loop: EventLoop, _ playing: [UInt32], _ body: @escaping (Instant) -> Void
  ) throws(ReactorError) {
    let former = self
    self = RelayedNumbers()
    timer = if let known = former.timer { known } else { try loop.addTimer(body) }
    (usage, frames) = (former.usage, former.frames)
    for uid in playing { hosts[uid] = Row(isInherited: true) }
    if let timer { loop.setDeadline(timer, began + Self.interval) }
  }

  mutating func stop(on loop: EventLoop) {
    if let timer = timer.take() { loop.removeTimer(timer) }
  }

  mutating func append(_ change: FallbackChange) {
    if fallbacks.count < CallRecord.mostFallbacks { fallbacks.append(change) }
  }

  /// Looks at the line now and then; called with the sound, fifty times a second.
  mutating func sampleNetwork(_ driver: Driver, now: Instant) {
    guard network.isDue(now: now),
      let rate = driver.readMachine({ LinkStatistics($0, now: now)?.congestion?.believedRate })
    else { return }
    network.add(estimate: rate, now: now)
  }

  /// A seat is left.
  mutating func addFrames(of driver: Driver) {
    let counts = counts(with: driver)
    frames = Frames(sent: counts.sent, opened: counts.opened, unopened: counts.unopened)
  }

  /// A host is gone.
  mutating func remove(
    _ uid: UInt32, _ driver: Driver, _ sound: RelayedSound, _ view: RelayedView, now: Instant
  ) {
    if let last = host(uid, driver, sound, view, now: now) {
      gone.removeAll { $0.uid == uid }
      gone.append(RelayStatistics.Host(uid: uid, numbers: last))
      if gone.count > Self.mostGone { gone.removeFirst() }
    }
    hosts[uid] = nil
  }

  // MARK: - Outputs

  /// Frames by all seats.
  ///
  /// - Parameter driver: Of the seat that there is.
  func counts(with driver: Driver?) -> (sent: UInt64, opened: UInt64, unopened: UInt64) {
    let now = driver?.readMachine { $0.counts } ?? (opened: 0, unopened: 0, sent: 0)
    return (frames.sent + now.sent, frames.opened + now.opened, frames.unopened + now.unopened)
  }

  /// Numbers asked for in between.
  func read(
    _ driver: Driver, _ sound: RelayedSound, _ view: RelayedView, now: Instant
  ) -> RelayStatistics? {
    guard var all = whole(driver, sound, view, now: now) else { return nil }
    own.grader.adopt(&all.own)
    for index in all.hosts.indices {
      hosts[all.hosts[index].uid]?.grader.adopt(&all.hosts[index].numbers)
    }
    return all
  }

  /// The numbers that are told now, with rates and grades since those before.
  mutating func turn(
    _ driver: Driver, _ sound: RelayedSound, _ view: RelayedView, _ streams: RelayedStreams,
    maxVideoBitrate: Int, now: Instant
  ) -> RelayStatistics? {
    countLine(driver, now: now)
    guard var all = whole(driver, sound, view, now: now) else { return nil }
    let heardCount = turnHosts(&all.hosts, sound, streams)
    own.told.fillInterval(&all.own, nil)
    var surroundings = CallGrader.Surroundings(
      all.own, carries: network.takeMost(), maxVideoBitrate: maxVideoBitrate)
    surroundings.sends =
      sound.isSending && (!sound.isMuted || view.isSending && !view.isMuted)
    surroundings.receives = isLost || heardCount > 0
    own.grader.turn(&all.own, surroundings)
    all.own.usage = CallStatistics.Usage(usage.sample(now: now), calls: all.hosts.count)
    return all
  }

  /// - Returns: How many hosts were heard since the last time.
  private mutating func turnHosts(
    _ rows: inout [RelayStatistics.Host], _ sound: RelayedSound, _ streams: RelayedStreams
  ) -> Int {
    let counts = rows.map { host in
      host.numbers.fates.heard - min(host.numbers.fates.heard, hosts[host.uid]?.heard ?? 0)
    }
    let heardCount = counts.count { $0 > 0 }
    for index in rows.indices {
      let uid = rows[index].uid
      var row = hosts[uid] ?? Row()
      row.told.fillInterval(
        &rows[index].numbers, sound.playingAudio(of: uid)?.statistics)
      var surroundings = CallGrader.Surroundings()
      surroundings.sends = false
      // Of more than three who speak the relay leaves some out, and tells nobody.
      let isDue = isLost || (!streams.isMuted(uid) && heardCount < Self.mostHeard)
      surroundings.receives = counts[index] > 0 || isDue
      if row.isInherited {
        row.grader.begin(rows[index].numbers)
        row.isInherited = false
      } else {
        row.grader.turn(&rows[index].numbers, surroundings)
      }
      row.heard = rows[index].numbers.fates.heard
      hosts[uid] = row
    }
    return heardCount
  }

  /// Of the whole seat.
  mutating func end(
    _ driver: Driver, _ sound: RelayedSound, _ view: RelayedView, now: Instant
  ) -> RelayStatistics? {
    countLine(driver, now: now)
    guard var all = whole(driver, sound, view, now: now) else { return nil }
    own.grader.adoptEnd(&all.own)
    for index in all.hosts.indices {
      hosts[all.hosts[index].uid]?.grader.adoptEnd(&all.hosts[index].numbers)
    }
    let live = Set(all.hosts.map(\.uid))
    all.hosts = (all.hosts + gone.filter { !live.contains($0.uid) }).sorted { $0.uid < $1.uid }
    return all
  }

  // MARK: - Parts

  private func whole(
    _ driver: Driver, _ sound: RelayedSound, _ view: RelayedView, now: Instant
  ) -> RelayStatistics? {
    guard let link = driver.readMachine({ LinkStatistics($0, now: now) }) else { return nil }
    let rows = sound.playingUIDs.compactMap { uid in
      host(uid, driver, sound, view, now: now).map { RelayStatistics.Host(uid: uid, numbers: $0) }
    }
    var numbers = start(now: now)
    numbers.fill(with: link, now: now)
    numbers.fillCongestion(with: link, network)
    numbers.fallbacks = fallbacks
    if let audio = sound.sendingAudio {
      numbers.complete(with: audio.statistics, bitrate: audio.bitrate, now: now)
      if sound.isMuted { numbers.audio?.outbound.active = false }
    }
    if let rings = view.sendingRings {
      numbers.fillVideoSent(with: link, rings, since: began, now: now)
    }
    numbers.received.sum(rows.map(\.numbers.received))
    numbers.fillFates(with: link, nil)
    numbers.fates.heard = link.arrivals.received
    numbers.fates.received = CallStatistics.Fates.Way()
    numbers.fates.received.other = line
    numbers.grade()
    return RelayStatistics(own: numbers, hosts: rows)
  }

  private func host(
    _ uid: UInt32, _ driver: Driver, _ sound: RelayedSound, _ view: RelayedView, now: Instant
  ) -> CallStatistics? {
    guard let link = driver.readMachine({ LinkStatistics($0, of: uid) }) else { return nil }
    var numbers = start(now: now)
    numbers.fill(with: link, now: now)
    let audio = sound.playingAudio(of: uid)
    let heard = audio?.statistics
    if let audio, let heard {
      numbers.complete(with: heard, bitrate: audio.bitrate, now: now)
      numbers.received.bytesReceived = Int(clamping: heard.playout.primaryBytes)
    }
    if let rings = view.showingRings(of: uid) {
      numbers.fillVideoReceived(with: link, rings, since: began, now: now)
    }
    numbers.fillFates(with: link, heard)
    numbers.grade()
    return numbers
  }

  private func start(now: Instant) -> CallStatistics {
    var numbers = CallStatistics(atMs: Int(now.nanoseconds(since: began) / 1_000_000))
    numbers.timestamp = Double(SystemClock.wallNanoseconds / 1000) / 1000
    return numbers
  }

  /// What was lost on the line from the relay: its packets have numbers.
  private mutating func countLine(_ driver: Driver, now: Instant) {
    guard let new = driver.readMachine({ LinkStatistics($0, now: now)?.arrivals }) else { return }
    defer { arrivals = new }
    // In another session, or with other keys, numbers begin again.
    guard let newest = new.newest, let before = arrivals.newest, newest > before,
      newest >> 32 == before >> 32, new.received >= arrivals.received
    else { return }
    let expected = newest - before
    line.expected += expected
    line.lost += expected - min(expected, new.received - arrivals.received)
  }

  /// Who left.
  private static let mostGone = 64
  /// As many as a relay forwards at once (docs/protocol/relay.md §4).
  private static let mostHeard = 3
}

extension CallStatistics.Inbound {
  /// Of several hosts together; bytes and the mean rate are there already.
  fileprivate mutating func sum(_ all: [CallStatistics.Inbound]) {
    var sum = CallStatistics.Inbound()
    (sum.bytesReceived, sum.bitrateBps) = (bytesReceived, bitrateBps)
    for numbers in all {
      sum.packetsReceived += numbers.packetsReceived
      sum.packetsLost += numbers.packetsLost
      sum.packetsDiscarded += numbers.packetsDiscarded
      sum.recoveredByFec += numbers.recoveredByFec
      sum.residualLost += numbers.residualLost
      sum.totalSamplesReceived += numbers.totalSamplesReceived
      sum.concealedSamples += numbers.concealedSamples
      sum.silentConcealedSamples += numbers.silentConcealedSamples
      sum.concealmentEvents += numbers.concealmentEvents
    }
    sum.jitterMs = all.lazy.map(\.jitterMs).min() ?? 0
    self = sum
  }
}
