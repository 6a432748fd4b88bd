import Calling
import Connectivity
import LastMile
import Primitives
import SecureSession
import Wire

/// The part of a call that a probe between two peers rides in (docs/protocol/probe.md §3): the
/// caller's prober, the callee's reflector.
extension CallLink {
  /// Takes a PROBE frame. A call that is no probe's has priority, and says so.
  func takeProbe(
    _ frame: Frame, in packet: Span<UInt8>, _ arrival: ProbeArrival, now: Instant
  ) {
    switch frame {
    case .probeRequest(let request): takeRequest(request, arrival, now: now)
    case .probePacket(let test):
      if prober?.run == test.run {
        prober?.handle(test, byteCount: arrival.byteCount, ecn: arrival.ecn, now: now)
      } else if agent.isValid(arrival.source) {
        reflection?.handle(test, ecn: arrival.ecn, now: now)
      }
    case .probeAnswer(let answer): prober?.handle(answer, now: now)
    case .probeReport(let report): prober?.handle(report, in: packet, now: now)
    default: return
    }
    prober?.noteReceived(byteCount: arrival.byteCount)
  }

  private func takeRequest(
    _ request: ProbeRequestFrame, _ arrival: ProbeArrival, now: Instant
  ) {
    // Each side selects its own path: the prober's need not be the one that answers go on.
    guard let selected = agent.selected, agent.isValid(arrival.source) else { return }
    guard isProbe, role == .callee else {
      probeRefusal = ProbeAnswerFrame(
        run: request.run, number: request.number, status: .callInProgress)
      return
    }
    if reflection?.run == request.run {
      reflection?.handle(request, now: now)
    } else if !hasReflected, !request.isOver {
      // One run a call: the limits of invitations are those of probes.
      hasReflected = true
      reflection = ReflectorRun(
        request, limits: .peer, overhead: selected.headerByteCount, now: now)
    }
  }

  func handleProbeTimeout(now: Instant) {
    prober?.handleTimeout(now: now)
    reflection?.handleTimeout(now: now)
    if reflection?.isOver == true, reflection?.hasWords == false { reflection = nil }
  }

  @_lifetime(packet: copy packet)
  func writeProbe(into packet: inout OutputSpan<UInt8>, now: Instant) -> Bool {
    guard prober != nil || reflection != nil || probeRefusal != nil,
      association?.isClosing == false
    else { return false }
    Session.beginPacket(&packet)
    var hasWritten = false
    if let refusal = probeRefusal.take() {
      refusal.write(to: &packet)
      hasWritten = true
    } else if prober != nil {
      hasWritten =
        prober?.writeFrames(into: &packet, tagByteCount: SealedPacket.tagByteCount, now: now)
        ?? false
    } else {
      hasWritten =
        reflection?.writeFrames(into: &packet, tagByteCount: SealedPacket.tagByteCount, now: now)
        ?? false
    }
    guard hasWritten else {
      packet.removeAll()
      return false
    }
    return association?.seal(&packet, elicits: false, hasMessages: false, now: now) ?? false
  }

  var probeDeadline: Instant? {
    guard agent.selected != nil, association?.isClosing == false else { return nil }
    if probeRefusal != nil { return .zero }
    return earliest(prober?.nextDeadline, reflection?.nextDeadline)
  }
}

/// How a packet with PROBE frames came.
struct ProbeArrival: BitwiseCopyable {
  var source: SocketAddress
  /// Of the IP packet.
  var byteCount: Int
  var ecn: UInt8

  /// - Parameter frameByteCount: Of the packet's frames, all together.
  init(of frameByteCount: Int, from source: SocketAddress, _ marks: DatagramMarks) {
    self.source = source
    byteCount = frameByteCount + SealedPacket.minimumByteCount + source.headerByteCount
    ecn = marks.ecn
  }
}
