internal import Channels
internal import Primitives
internal import Reactor
internal import Wire

/// Whether relays for channels are there (docs/protocol/relay.md §2): those of the plan, and the
/// one of which the rendezvous tells.
extension Diagnostician {
  /// A relay, as the rendezvous tells a member of it.
  struct OfferedRelay: Sendable, Equatable {
    let id: PeerID
    let address: SocketAddress
  }

  /// Asks each of them. One that the plan names and the rendezvous too is asked once.
  func askChannelRelays() async throws(EarshotError) -> [ChannelRelaySighting] {
    var sightings: [ChannelRelaySighting] = []
    for text in plan.channelRelays where !Task.isCancelled {
      let target = try RendezvousTarget(text)
      var sighting = ChannelRelaySighting(name: target.text, id: target.id)
      do throws(EarshotError) {
        for address in try await target.addresses(matching: plan.bind)
        where sighting.address == nil || sighting.error != nil {
          try await look(at: address, &sighting)
        }
      } catch {
        guard error.code == .hostNotFound else { throw error }
        sighting.error = error
      }
      sighting.isOffered = offeredRelay.map { $0.isTold(by: sighting) } ?? false
      sightings.append(sighting)
    }
    guard let offeredRelay, !sightings.contains(where: \.isOffered), !Task.isCancelled else {
      return sightings
    }
    var sighting = ChannelRelaySighting(
      name: "\(offeredRelay.address)", isOffered: true, id: offeredRelay.id)
    try await look(at: offeredRelay.address, &sighting)
    return sightings + [sighting]
  }

  /// A relay registers nobody who has no grant, and says so under its key: that is all that is
  /// wanted of it.
  private func look(
    at address: SocketAddress, _ sighting: inout ChannelRelaySighting
  ) async throws(EarshotError) {
    sighting.address = address
    let text = sighting.id.map { "\(address)#\($0)" } ?? "\(address)"
    let began = SystemClock.now
    let endpoint = try await open(
      Place(text: text, name: sighting.name, address: address), bind: anyPort, token: nil)
    let step = Duration.milliseconds(1)
    _ = await endpoint.isRegistered(by: began + plan.patience, lookingEach: step)
    sighting.error = await endpoint.channelRelayError(at: address, expected: sighting.id)
    if sighting.error == nil {
      sighting.tookMs = (SystemClock.now - began).inMilliseconds.rounded(.up)
    }
    await endpoint.close()
  }
}

extension Diagnostician.OfferedRelay {
  fileprivate func isTold(by sighting: ChannelRelaySighting) -> Bool {
    sighting.error == nil && (sighting.id.map { $0 == id } ?? (sighting.address == address))
  }
}

extension Endpoint {
  /// What is the matter with the relay that was asked to register this program.
  fileprivate func channelRelayError(
    at address: SocketAddress, expected: PeerID?
  ) -> EarshotError? {
    let error: EarshotError
    switch registration {
    case .registered: return .rendezvousAsRelay(address)
    case .failed(let found), .reconnecting(.some(let found)): error = found
    case .connecting, .reconnecting(nil):
      error = presentTrouble ?? .rendezvousUnreachable(address)
    }
    if error == .relayAsRendezvous(address) { return nil }
    if error == .nothingListens(address) { return .noChannelRelay(address) }
    switch error.code {
    case .rendezvousUnreachable where error == .rendezvousUnreachable(address),
      .rendezvousNotUnderstood:
      return .channelRelaySilent(address)
    case .identityChanged: return .channelRelayChanged(address, expected: expected)
    case .tokenNeeded, .tokenRefused: return .noSignOfRelay(address)
    default: return error
    }
  }

  /// The relay that the rendezvous gives to members of a channel: this program joins one of its own
  /// for a moment. `nil` = there is none, or nothing came in time.
  func offeredChannelRelay(within patience: Duration) async -> Diagnostician.OfferedRelay? {
    var random = RandomSource.system
    guard let name = ChannelName("doctor-\(String(random.next(), radix: 36))") else { return nil }
    let (events, end) = (events(), SystemClock.now + patience)
    let channel: Channel
    do throws(EarshotError) {
      channel = try join(name, as: .audience)
    } catch {
      return nil  // Only what has closed, or is in too many channels, cannot join.
    }
    let search = Task { await channel.firstRelay(in: events) }
    let watch = Task {
      while SystemClock.now < end, !Task.isCancelled { await pause(.milliseconds(20)) }
      search.cancel()
    }
    let found = await withTaskCancellationHandler {
      await search.value
    } onCancel: {
      search.cancel()
    }
    watch.cancel()
    await channel.leave()
    return found
  }
}

extension Channel {
  /// Asks for a relay as soon as it is joined.
  fileprivate func firstRelay(
    in events: AsyncStream<EndpointEvent>
  ) async -> Diagnostician.OfferedRelay? {
    for await case .channel(let name, let step) in events where name == self.name {
      switch step {
      case .joined: await RelayedMembership.ask(endpoint, name, lost: nil)
      case .relayGranted(let granted):
        return Diagnostician.OfferedRelay(id: granted.relay, address: granted.grant.address)
      case .relayUnavailable, .stateChanged(.failed, _): return nil
      default: break
      }
    }
    return nil
  }
}
