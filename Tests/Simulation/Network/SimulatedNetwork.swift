package import Primitives

/// Sites joined by a core that is never the bottleneck, and the datagrams under way between them.
///
///     host ─ [NAT] ─ up link ─▶ (core) ─ down link ─▶ [NAT] ─ host
///
/// Holds no machines: whoever runs them calls `send`, waits until `nextTime`, and takes what
/// `popArrival` gives. One queue in order of time; ties are broken by the order of sending.
package final class SimulatedNetwork {
  package struct SiteID: Hashable, Sendable { package let index: Int }

  package struct HostID: Hashable, Sendable {
    package let index: Int

    package init(index: Int) { self.index = index }
  }

  /// A datagram that has reached its host. Its bytes are in the `buffer` given to `popArrival`.
  package struct Arrival: Sendable {
    package var host: HostID
    package var source: SocketAddress
    package var marks: DatagramMarks
  }

  /// A datagram as somebody who listens on the sender's line sees it.
  package struct Sighting: ~Copyable, ~Escapable {
    package let host: HostID
    package let destination: SocketAddress
    package let now: Instant
    package let bytes: Span<UInt8>

    @_lifetime(copy bytes)
    init(host: HostID, destination: SocketAddress, now: Instant, bytes: Span<UInt8>) {
      self.host = host
      self.destination = destination
      self.now = now
      self.bytes = bytes
    }
  }

  package enum DropReason: UInt8, Sendable {
    case lost = 1, queueFull, blackedOut, noRoute, blocked, filtered, unsendable, hopLimit
  }

  struct Site {
    var up: SimulatedLink
    var down: SimulatedLink
    var nat: SimulatedNAT?
    /// For sites with a NAT: the address that the outside sees.
    var outerAddress: SocketAddress
    /// Further addresses of the hosts of a site without a NAT.
    var otherAddresses: [SocketAddress] = []
    var hostCount = 0
  }

  struct Host {
    /// What the system chooses to send from.
    var address: SocketAddress
    var site: SiteID
    /// Further addresses; `LocalAddressID` n is the one at n - 1.
    var others: [Attachment] = []

    /// What a datagram is sent from, and by which line; the system's choice for an address that the
    /// host has no more.
    func source(_ path: DatagramPath) -> Attachment {
      var source = source(of: path.local.atUsualPort, family: path.remote.family)
      if path.local.isAtOtherPort { source.address.port &+= 1 }
      return source
    }

    private func source(
      of local: LocalAddressID, family: SocketAddress.Family
    ) -> Attachment {
      let index = Int(local.rawValue) - 1
      guard !others.indices.contains(index) else { return others[index] }
      let usual = [Attachment(address, site)] + others
      return usual.first { $0.address.family == family } ?? usual[0]
    }

    /// What an own address is called when something comes to it.
    func local(_ other: Int) -> LocalAddressID {
      let family = others[other].address.family
      let isUsual =
        family != address.family && !others[..<other].contains { $0.address.family == family }
      return isUsual ? .unspecified : LocalAddressID(rawValue: UInt16(other + 1))
    }
  }

  /// An address of a host at a site.
  struct Attachment {
    var address: SocketAddress
    var site: SiteID

    init(_ address: SocketAddress, _ site: SiteID) {
      self.address = address
      self.site = site
    }
  }

  private enum Stage: UInt8 { case core, arrival }
  private struct Step {
    var slot: Int
    var stage: Stage
  }

  /// A datagram under way; its bytes are in `buffers` at the same index.
  private struct Flight {
    var source: SocketAddress
    var destination: SocketAddress
    var from: SiteID
    var to: SiteID
    var ecn: UInt8
    var number: UInt64
    /// Whether its hop limit ends it between two sites.
    var isShort = false
  }

  /// From one host to another of the same site.
  package static let localDelay = Duration.microseconds(150)

  package let log: RunLog
  /// Whether hosts send with ECT(0), as sockets with ECN switched on do.
  package var hostsSendECT = true
  /// Sees every datagram as it leaves its host, before any line.
  package var tap: ((borrowing Sighting) -> Void)?
  /// Which datagrams get lost, besides those that the lines lose.
  package var loses: ((borrowing Sighting) -> Bool)?
  /// Sees what becomes of every datagram on every line.
  package var lineTap: ((SiteID, LineDirection, SimulatedLink.Passage, Int, Instant) -> Void)?
  package private(set) var dropCounts = [Int](repeating: 0, count: 9)
  package private(set) var sentCount = 0

  var sites: [Site] = []
  var hosts: [Host] = []
  private var blocked: [(from: SiteID, to: SiteID)] = []
  var unreachable: [(address: SocketAddress, from: SiteID)] = []
  private var queue = EventQueue<Step>()
  private var flights: [Flight] = []
  private var buffers: [[UInt8]] = []
  private var freeSlots: [Int] = []
  var random: RandomSource
  /// When the address that others see of a host last changed.
  var addressChanges: [Int: Instant] = [:]
  /// How many public addresses have been given out.
  var addressCount = 0

  package init(random: RandomSource, log: RunLog) {
    self.random = random
    self.log = log
  }

  // MARK: - Datagrams

  package var nextTime: Instant? { queue.nextTime }

  package func send(
    _ bytes: Span<UInt8>, from host: HostID, to path: DatagramPath, now: Instant
  ) {
    sentCount += 1
    let destination = path.remote
    let sender = hosts[host.index].source(path)
    let number = UInt64(sentCount)
    let digest = RunLog.digest(of: bytes)
    log.record(
      at: now, UInt64(host.index) << 32 | UInt64(bytes.count), digest,
      destination.high ^ UInt64(destination.port),
      line: "#\(number) host \(host.index) > \(destination) \(bytes.count) B \(digest)")
    let sighting = Sighting(host: host, destination: destination, now: now, bytes: bytes)
    tap?(sighting)
    guard loses?(sighting) != true else { return drop(number, .lost, now) }
    guard !destination.isUnsendable else { return drop(number, .unsendable, now) }
    guard sender.address.family == destination.family else { return drop(number, .noRoute, now) }

    var flight = Flight(
      source: sender.address, destination: destination, from: sender.site, to: sender.site,
      ecn: hostsSendECT ? 2 : 0, number: number, isShort: path.hopLimit != 0)
    if sites[sender.site.index].nat != nil {
      if localHost(destination, at: sender.site) != nil {
        launch(flight, bytes, .arrival, at: now + Self.localDelay, corruption: 0)
        return
      }
      guard let source = outbound(flight, now) else { return drop(number, .noRoute, now) }
      flight.source = source
    }
    let passage = sites[sender.site.index].up.carry(
      byteCount: bytes.count, at: now, isECNCapable: flight.ecn != 0)
    lineTap?(sender.site, .up, passage, bytes.count, now)
    dispatch(flight, bytes, passage, .core, now)
  }

  /// Puts a datagram into the core as if `source` had sent it: what an attacker does who can forge
  /// addresses.
  package func inject(
    _ bytes: [UInt8], from source: SocketAddress, to destination: SocketAddress, now: Instant
  ) {
    sentCount += 1
    log.note(at: now, "#\(sentCount) forged \(source) > \(destination) \(bytes.count) B")
    let nowhere = SiteID(index: -1)
    let flight = Flight(
      source: source, destination: destination, from: nowhere, to: nowhere, ecn: 0,
      number: UInt64(sentCount))
    launch(flight, bytes.span, .core, at: now, corruption: 0)
  }

  /// The next datagram that has arrived at `now`; its bytes replace what `buffer` held.
  package func popArrival(at now: Instant, into buffer: inout [UInt8]) -> Arrival? {
    while let time = queue.nextTime, time <= now, let step = queue.pop(at: now) {
      let flight = flights[step.slot]
      swap(&buffer, &buffers[step.slot])
      freeSlots.append(step.slot)
      switch step.stage {
      case .core: crossCore(flight, buffer, now: time)
      case .arrival:
        guard let host = receiver(of: flight, now: time) else {
          drop(flight.number, .filtered, time)
          continue
        }
        log.record(
          at: time, UInt64(host.id.index), flight.number, UInt64(buffer.count),
          line: "#\(flight.number) < host \(host.id.index) \(buffer.count) B")
        return Arrival(
          host: host.id, source: flight.source,
          marks: DatagramMarks(ecn: flight.ecn, local: host.local))
      }
    }
    return nil
  }

  // MARK: - Partitions

  /// From now on nothing passes from one site to the other; the way back is another matter.
  package func block(from: SiteID, to: SiteID) {
    if !isBlocked(from: from, to: to) { blocked.append((from, to)) }
  }

  package func unblock(from: SiteID, to: SiteID) {
    blocked.removeAll { $0.from == from && $0.to == to }
  }

  package func unblockAll() { blocked.removeAll() }

  package func isBlocked(from: SiteID, to: SiteID) -> Bool {
    blocked.contains { $0.from == from && $0.to == to }
  }

  // MARK: - On the way

  private func crossCore(_ flight: Flight, _ bytes: [UInt8], now: Instant) {
    var flight = flight
    guard let site = site(of: flight.destination) else { return drop(flight.number, .noRoute, now) }
    guard !flight.isShort else { return drop(flight.number, .hopLimit, now) }
    guard !isBlocked(from: flight.from, to: site) else { return drop(flight.number, .blocked, now) }
    guard
      !unreachable.contains(where: { $0.address == flight.destination && $0.from == flight.from })
    else {
      return drop(flight.number, .noRoute, now)
    }
    flight.to = site
    let passage = sites[site.index].down.carry(
      byteCount: bytes.count, at: now, isECNCapable: flight.ecn != 0)
    lineTap?(site, .down, passage, bytes.count, now)
    dispatch(flight, bytes.span, passage, .arrival, now)
  }

  private func dispatch(
    _ flight: Flight, _ bytes: Span<UInt8>, _ passage: SimulatedLink.Passage, _ stage: Stage,
    _ now: Instant
  ) {
    switch passage.fate {
    case .lost: return drop(flight.number, .lost, now)
    case .queueFull: return drop(flight.number, .queueFull, now)
    case .blackedOut: return drop(flight.number, .blackedOut, now)
    case .arrives: break
    }
    var flight = flight
    if passage.isMarked { flight.ecn = 3 }
    if passage.isBleached { flight.ecn = 0 }
    launch(flight, bytes, stage, at: passage.arrival, corruption: passage.corruption)
    if let second = passage.duplicate { launch(flight, bytes, stage, at: second, corruption: 0) }
  }

  private func launch(
    _ flight: Flight, _ bytes: Span<UInt8>, _ stage: Stage, at time: Instant, corruption: UInt64
  ) {
    let slot: Int
    if let free = freeSlots.popLast() {
      slot = free
      flights[slot] = flight
    } else {
      slot = flights.count
      flights.append(flight)
      buffers.append([])
    }
    buffers[slot].removeAll(keepingCapacity: true)
    buffers[slot].append(addingCapacity: bytes.count) { $0.append(span: bytes) }
    if corruption != 0 { SimulatedLink.flipBits(of: &buffers[slot], corruption) }
    queue.push(Step(slot: slot, stage: stage), at: time)
  }

  private func drop(_ number: UInt64, _ reason: DropReason, _ now: Instant) {
    dropCounts[Int(reason.rawValue)] += 1
    log.record(
      at: now, number, UInt64(reason.rawValue), 0, line: "#\(number) dropped: \(reason)")
  }

  // MARK: - Who is where

  /// The source as the outside will see it; `nil` for a hairpin that the NAT does not do.
  private func outbound(_ flight: Flight, _ now: Instant) -> SocketAddress? {
    guard var nat = sites[flight.from.index].nat else { return flight.source }
    if flight.destination.isSameHost(as: nat.outerAddress), !nat.behaviour.isHairpinning {
      return nil
    }
    sites[flight.from.index].nat = nil
    let source = nat.translate(from: flight.source, to: flight.destination, at: now)
    sites[flight.from.index].nat = nat
    return source
  }

  private func receiver(of flight: Flight, now: Instant) -> Receiver? {
    guard let outer = sites[flight.to.index].nat?.outerAddress,
      flight.destination.isSameHost(as: outer)
    else { return localHost(flight.destination, at: flight.to) }
    let inner = sites[flight.to.index].nat?.receiver(
      ofPort: flight.destination.port, from: flight.source, at: now)
    if inner == nil {
      sites[flight.to.index].nat?.noteRefused(
        port: flight.destination.port, from: flight.source, at: now)
    }
    return inner.flatMap { localHost($0, at: flight.to) }
  }

  /// A host, and which of its addresses was meant.
  private struct Receiver {
    var id: HostID
    var local = LocalAddressID.unspecified
  }

  private func localHost(_ address: SocketAddress, at site: SiteID) -> Receiver? {
    for (index, host) in hosts.enumerated() {
      if host.site == site, host.address == address { return Receiver(id: HostID(index: index)) }
      let place = host.others.firstIndex { $0.site == site && $0.address == address }
      guard let other = place else { continue }
      return Receiver(id: HostID(index: index), local: host.local(other))
    }
    return nil
  }

  private func site(of address: SocketAddress) -> SiteID? {
    for (index, site) in sites.enumerated()
    where site.outerAddress.isSameHost(as: address)
      || site.otherAddresses.contains(where: { $0.isSameHost(as: address) })
    {
      return SiteID(index: index)
    }
    return nil
  }
}
