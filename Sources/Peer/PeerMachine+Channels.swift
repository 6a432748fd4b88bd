package import Channels
package import Primitives

extension PeerMachine {
  /// Carries out a command about channels; what comes of it is told by `PeerEvent.channel`.
  package mutating func withChannels(
    now: Instant, _ command: (inout ChannelClient) throws(ChannelRefusal) -> Void
  ) throws(ChannelRefusal) {
    try channels.run(isConnected: rendezvous.isRegistered, random: &random, now: now, command)
    settle(now: now)
  }

  mutating func settleChannels(now: Instant) {
    let unixSeconds = unixSeconds(now: now)
    while hasRoomForWords, let event = channels.pollEvent(unixSeconds: unixSeconds) {
      publish(event)
    }
    channels.sendRequests(by: &rendezvous, unixSeconds: unixSeconds, now: now)
  }
}
