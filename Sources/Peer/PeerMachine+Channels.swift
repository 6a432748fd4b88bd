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
    while hasRoomForWords, let event = channels.pollEvent(unixSeconds: unixSeconds(now: now)) {
      publish(event)
    }
    channels.sendRequests(by: &rendezvous, now: now)
  }
}
