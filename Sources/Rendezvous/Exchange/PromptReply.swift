import Primitives
import Wire

/// What is owed for one packet of a client that has no exchange: PONG, FEEDBACK, PATH_RESPONSE. It
/// goes at once and is never repeated, so that it needs no place among the exchanges.
struct PromptReply: Sendable {
  let slot: UInt32
  /// Our connection ID: the slot may have another session by the time it is written.
  let connection: ConnectionID
  var pong: PongFrame?
  var pathResponse: PathResponseFrame?
  /// A PATH_RESPONSE to an address that is not the proven one: nothing else goes then.
  var stray: (frame: PathResponseFrame, to: DatagramPath)?
  /// The packet, where FEEDBACK is due for it.
  var arrival: (number: UInt32, at: Instant, isCongestionExperienced: Bool)?

  var isEmpty: Bool {
    pong == nil && pathResponse == nil && stray == nil && arrival == nil
  }

  /// Writes all but the stray one.
  @_lifetime(packet: copy packet)
  func writeFrames(into packet: inout OutputSpan<UInt8>, now: Instant) {
    pong?.write(to: &packet)
    pathResponse?.write(to: &packet)
    guard let arrival else { return }
    var arrivals = ArrivalRing()
    arrivals.record(
      arrival.number, at: arrival.at, isCongestionExperienced: arrival.isCongestionExperienced,
      demand: .soon)
    arrivals.write(into: &packet, now: now)
  }
}
