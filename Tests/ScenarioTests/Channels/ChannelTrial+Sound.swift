import Channels
import Forwarding
import Peer
import Primitives
import Rendezvous
import Wire

/// What goes by the relay, who hears what, and what must hold.
extension ChannelTrial {
  // MARK: - Packets by the relay

  func deliver() {
    let due = words.filter { $0.at <= now }.sorted { ($0.at, $0.order) < ($1.at, $1.order) }
    words.removeAll { $0.at <= now }
    for entry in due { hear(entry.word) }
    let landed = flights.filter { $0.at <= now }.sorted { ($0.at, $0.order) < ($1.at, $1.order) }
    flights.removeAll { $0.at <= now }
    for flight in landed {
      var bytes = flight.bytes
      var span = bytes.mutableSpan
      if flight.to == relayAddress {
        relay.handle(&span, from: flight.from, marks: DatagramMarks(), now: now)
        drainRelay()
      } else if let end = ends.first(where: { $0.address == flight.to }) {
        end.machine?.handle(&span, from: flight.from, marks: DatagramMarks(), now: now)
        drain(end)
      }
    }
  }

  private func fly(_ bytes: [UInt8], from: SocketAddress, to: SocketAddress) {
    if random.unit() < loss { return }
    order += 1
    let delay = 10 + Int64(random.next() % 30)
    flights.append(
      Flight(at: now + .milliseconds(delay), order: order, to: to, from: from, bytes: bytes))
  }

  func drainRelay() {
    var out = DatagramList()
    var events: [ServerEvent] = []
    _ = Primitives.drain(&relay, into: &out, events: &events, now: now)
    for (bytes, path) in out.datagrams { fly(bytes, from: relayAddress, to: path.remote) }
  }

  func drain(_ end: TrialEnd) {
    guard end.machine != nil else { return }
    var out = DatagramList()
    var events: [ChannelRelayEvent] = []
    _ = Primitives.drain(&end.machine!, into: &out, events: &events, now: now)
    for event in events {
      switch event {
      case .connected: end.seatedAt = end.seatedAt ?? now
      case .lost: end.seatedAt = nil
      case .rosterDiffers(let uid): fail("\(end.number) is told of a fork by \(uid), and none is")
      case .grantNeeded, .refused: if !end.lingers { end.asksAt = end.asksAt ?? now }
      default: break
      }
    }
    for (bytes, path) in out.datagrams { fly(bytes, from: end.address, to: path.remote) }
    for uid in Set(end.roster.map(\.uid)).sorted() { listen(end, to: uid) }
  }

  // MARK: - Sound

  /// A frame of each host: bytes that tell which one it is.
  func speak() {
    for end in ends where end.machine != nil && !end.lingers {
      let number = UInt32(said.count)
      var payload: [UInt8] = [7]
      payload.append(littleEndian: number)
      end.mediaTime &+= 10
      let isSent = end.machine!.sendAudio(
        payload.span,
        ChannelAudioLabel(
          length: .milliseconds20, isMarked: false, mediaTime: end.mediaTime, level: 20), now: now)
      guard isSent else { continue }
      said.append(Said(host: end.number, at: now, listeners: end.roster))
      drain(end)
    }
  }

  private func listen(_ end: TrialEnd, to uid: UInt32) {
    while true {
      let body = end.machine!.pollAudio(of: uid) { body, received -> [[UInt8]] in
        guard let parts = try? AudioBody(body, hasCopies: received.header.frame.hasCopies) else {
          return []
        }
        var all = [parts.primary]
        for index in 0..<parts.copyCount where parts.copy(index).coding != .unsentCount {
          all.append(parts.copy(index).payload)
        }
        return all.filter { !$0.isEmpty }.map { place in place.range.map { body[$0] } }
      }
      guard let body else { return }
      for payload in body { judge(payload, end) }
    }
  }

  /// Nobody hears what was said while it was not there.
  private func judge(_ payload: [UInt8], _ end: TrialEnd) {
    heardCount += 1
    guard payload.count == 5, let key = end.key else { return fail("bytes that nobody said") }
    let number = payload[1...].reversed().reduce(0) { $0 << 8 | Int($1) }
    guard number < said.count else { return fail("a frame that nobody said") }
    let frame = said[number]
    end.heard.insert(number)
    if frame.listeners.contains(key) { return }
    let left = ends[frame.host - 1].left[key]
    guard let left, frame.at < left + .milliseconds(2200) else {
      return fail("\(end.number) hears what \(frame.host) said while it was not there")
    }
  }

  // MARK: - What must hold

  func fail(_ words: String) { failures.append("seed \(seed): \(words)") }

  private var present: [TrialEnd] {
    ends.filter { !$0.lingers && $0.client.state(of: channel.id) == .joined }
  }

  var isAgreed: Bool {
    let truth = directory.members(of: channel.id)
    return truth.count == present.count
      && present.allSatisfy { $0.client.members(of: channel.id) == truth }
  }

  /// Whether somebody keeps one on its roster who is not there, and says that it is not exact.
  var awaitsOthers: Bool {
    let truth = directory.members(of: channel.id)
    return present.contains { end in
      let members = end.client.members(of: channel.id)
      return members.count > truth.count && !end.client.isExact(in: channel.id)
        && members.filter { member in truth.contains(member) } == truth
    }
  }

  var isSeated: Bool { present.allSatisfy { $0.machine != nil && $0.seatedAt != nil } }

  func expectAgreement() {
    let truth = directory.members(of: channel.id)
    for end in present {
      if end.client.members(of: channel.id) != truth { fail("\(end.number) has another roster") }
      if end.machine == nil || end.seatedAt == nil { fail("\(end.number) has no seat") }
    }
    if truth.count != present.count { fail("\(truth.count) members, \(present.count) are there") }
  }

  /// All who are there hear all hosts.
  func expectVoices(since first: Int) {
    let hosts = present.filter { $0.client.own(in: channel.id)?.member.role == .host }
    for host in hosts {
      let frames = (first..<said.count).filter { said[$0].host == host.number }
      if frames.count < 15 { fail("\(host.number) is a host and silent") }
      for end in present where end !== host {
        let count = frames.count { end.heard.contains($0) }
        if count < 10 { fail("\(end.number) hears \(count) of \(frames.count) of \(host.number)") }
      }
    }
  }
}
