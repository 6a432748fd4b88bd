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
    voices.recordFrame(of: frame.host, at: end.number, now: now)
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

  /// Nobody is mute for whoever is there, has contact with the rendezvous, and knows of it as it
  /// knows of them. Where packets get lost, the loss of those that ask for a seat is an outage of
  /// the
  /// line.
  func watchVoices() {
    let truth = directory.members(of: channel.id)
    var there: [(end: TrialEnd, member: ChannelMember)] = []
    for end in present where end.session != 0 {
      guard let own = end.client.own(in: channel.id)?.member, truth.contains(own) else { continue }
      there.append((end, own))
    }
    let rosters = there.map { Set($0.end.client.members(of: channel.id).map(Stated.init)) }
    for (place, (listener, own)) in there.enumerated() {
      for (other, (host, member)) in there.enumerated() where other != place {
        let isSeated = listener.seatedAt != nil && host.seatedAt != nil
        let isEntitled =
          member.role == .host && rosters[place].contains(Stated(member))
          && rosters[other].contains(Stated(own)) && (isSeated || loss == 0)
        let silence = voices.look(
          listener.number, host.number, isEntitled: isEntitled, now: now)
        if let silence {
          fail(
            "\(listener.number) has not heard \(host.number) for \(silence) at \(now), loss \(loss)"
          )
        }
      }
    }
    let numbers = Set(there.map(\.end.number))
    for end in ends where !numbers.contains(end.number) {
      for other in ends where other !== end {
        _ = voices.look(end.number, other.number, isEntitled: false, now: now)
        _ = voices.look(other.number, end.number, isEntitled: false, now: now)
      }
    }
  }

  /// A member as a roster has it.
  private struct Stated: Hashable {
    let uid: UInt32
    let joinNumber: UInt64
    let isHost: Bool

    init(_ member: ChannelMember) {
      uid = member.uid
      joinNumber = member.joinNumber
      isHost = member.role == .host
    }
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
