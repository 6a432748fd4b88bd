import Primitives
import Wire

/// What happens to packets that were sent (docs/protocol/frames.md §3, RFC 9002 §6).
extension MessageSender {
  /// Packet `number` arrived.
  mutating func packetAcknowledged(_ number: UInt64, delivered: (MessageTag) -> Void) {
    guard let packet = window.acknowledge(number) ?? bulkWindow.acknowledge(number) else { return }
    probe.acknowledged()
    for reference in packet.fragments {
      guard let position = position(of: reference.message) else { continue }
      let neededResend = active[position].needsResend
      let isFinished = active[position].acknowledge(reference)
      if neededResend, !active[position].needsResend { resendCount -= 1 }
      if isFinished { finish(at: position, delivered: delivered) }
    }
    // What else is under way only repeats what has arrived: nobody waits for its fate.
    if active.isEmpty {
      window.removeAll()
      bulkWindow.removeAll()
    }
  }

  /// Takes out a message of which nothing is missing at the other side. One of an ordered stream
  /// waits there for those before it, so it waits here too: what counts as delivered has been.
  private mutating func finish(at position: Int, delivered: (MessageTag) -> Void) {
    let stream = active[position].stream
    var next: Int? = position
    if stream.isOrdered { next = active.firstIndex { $0.stream == stream } }
    while let position = next, active[position].isFinished {
      let message = active.remove(at: position)
      if !message.isAbandoned { delivered(message.tag) }
      next = stream.isOrdered ? active.firstIndex { $0.stream == stream } : nil
    }
  }

  /// Packet `number` is lost: what it carried goes again, or is given up.
  mutating func packetLost(_ number: UInt64, failed: (MessageTag) -> Void) {
    guard let packet = window.lose(number) ?? bulkWindow.lose(number) else { return }
    giveUpFragile(packet.fragments, failed: failed)
    markForResend(packet.fragments)
  }

  private mutating func giveUpFragile(
    _ fragments: [FragmentReference], failed: (MessageTag) -> Void
  ) {
    for reference in fragments where !carries(reference) {
      guard let position = position(of: reference.message), active[position].isFragile,
        active[position].awaits(reference)
      else { continue }
      giveUp(position, failed: failed)
    }
  }

  mutating func handle(_ frame: CreditFrame) {
    credit.raise(to: frame.total)
    owesCreditProbe = owesCreditProbe && isStarved
  }

  mutating func handleProbeTimeout(now: Instant, failed: (MessageTag) -> Void) {
    let isUrgent = active.contains { $0.isMissed }
    guard isProbeRunning, probe.deadline(isUrgent: isUrgent) <= now else { return }
    let isOnlyUrgent = probe.fire(isUrgent: isUrgent, now: now)
    if isStarved {
      window.removeAll()  // Credit probes that nobody answered.
      owesCreditProbe = true
      return
    }
    for packet in window.allowProbes(MessageRules.probeCount)
      + bulkWindow.allowProbes(MessageRules.probeCount)
    {
      giveUpFragile(packet.fragments, failed: failed)
      markForResend(packet.fragments)
    }
    if isUrgent { markMissed() }
    if isOnlyUrgent { return }
    var remaining = MessageRules.probeCount
    for position in active.indices where remaining > 0 {
      if active[position].isFragile, !active[position].hasUnsent {
        giveUp(position, failed: failed)
        remaining -= 1
        continue
      }
      let neededResend = active[position].needsResend
      remaining -= active[position].markOldest(remaining)
      if !neededResend, active[position].needsResend { resendCount += 1 }
    }
  }

  /// The timer runs while something is unanswered, and while only credit is missing.
  private var isProbeRunning: Bool { !isNothingInFlight || isStarved }

  var nextDeadline: Instant? {
    guard isProbeRunning else { return nextExpiry }
    return earliest(nextExpiry, probe.deadline(isUrgent: active.contains { $0.isMissed }))
  }
}
