import Calling
import Congestion
import Connectivity
import Primitives
import SecureSession
import Wire

/// What a call's packets hold, one line an arm. Station 15 of the house tour; next is
/// `AudioFrameQueue`, and from there `Audio/Playout/JitterBuffer.swift`.
extension CallLink {
  /// What the owner must look at after a packet.
  struct Findings: OptionSet {
    let rawValue: UInt16
    /// Something of ours was answered: the path carries both ways.
    static let answer = Findings(rawValue: 1)
    static let audio = Findings(rawValue: 2)
    /// Messages may wait in the channel.
    static let messages = Findings(rawValue: 4)
    /// The path may have changed.
    static let path = Findings(rawValue: 8)
    static let signal = Findings(rawValue: 16)
    /// The session ended itself.
    static let ended = Findings(rawValue: 32)
    static let probe = Findings(rawValue: 64)
    /// The other pipeline has said something to ours.
    static let audioControl = Findings(rawValue: 128)
    static let video = Findings(rawValue: 256)
    /// A challenge was in it: its bytes are counted for the path already. Not for the owner.
    static let challenge = Findings(rawValue: 512)
  }

  /// Takes a DATA packet that carries one of our connection IDs.
  @_lifetime(bytes: copy bytes)
  func receive(
    _ bytes: inout MutableSpan<UInt8>, from source: SocketAddress, marks: DatagramMarks,
    signals: inout [[UInt8]], now: Instant
  ) -> Findings {
    if path.ring != nil, SealedPacket.connectionID(of: bytes.span) == path.ringIDs.local {
      let findings = path.receiveRing(
        &bytes, from: source, local: marks.local, on: association, signals: &signals, now: now)
      return findings.subtracting(.challenge)
    }
    let byteCount = bytes.count
    guard let opened = association?.open(&bytes, now: now) else { return [] }
    media.handlePacket(byteCount: byteCount, now: now)
    let wasConfirmed = session.isConfirmed
    session.confirmation = .shown
    let answersBefore = answerCount
    var findings = readFrames(
      bytes.span.extracting(opened.frames), opened, of: byteCount, from: source, marks: marks,
      now: now)
    path.agent.handleAuthenticatedPacket(
      from: source, to: marks.local,
      byteCount: findings.remove(.challenge) == nil ? byteCount : 0,
      isHighestYet: opened.isHighestYet, now: now)
    if !wasConfirmed || !path.changes.isEmpty || awaitsMedia { findings.insert(.path) }
    if answerCount != answersBefore { findings.insert(.answer) }
    if !findings.isDisjoint(with: [.answer, .audio, .video, .probe]) {
      association?.recordProof(now: now)
    }
    if opened.switchedEpoch { association?.recorder.forgetPreviousEpoch() }
    if association?.endedBy != nil { findings.insert(.ended) }
    return findings
  }

  /// How often something of ours was answered, on the path or in the session.
  private var answerCount: UInt64 {
    UInt64(path.agent.counters.answers) &+ (association?.answerCount ?? 0)
  }

  private func readFrames(
    _ packet: Span<UInt8>, _ opened: OpenedPacket, of byteCount: Int, from source: SocketAddress,
    marks: DatagramMarks, now: Instant
  ) -> Findings {
    var findings = Findings()
    var demand = FeedbackDemand.none
    var reader = FrameReader(packet)
    do throws(WireError) {
      while let frame = try reader.next() {
        demand = max(demand, frame.demand)
        switch frame {
        case .audio, .audioReport, .audioRequest, .video, .videoNack:
          findings.formUnion(handleMedia(frame, in: packet, now: now))
        case .pathChallenge(let challenge):
          path.handleChallenge(
            challenge, from: source, to: marks.local, in: packet, &findings, now: now)
        case .pathResponse(let response):
          path.handleResponse(
            response, from: source, to: marks.local, on: association, now: now)
        case .signal, .echoRequest, .echo, .channelAudio, .channelCopy, .channelSource, .channelKey,
          .channelWho, .channelCard, .channelPicture, .channelWants, .channelLow, .channelUnsent:
          break  // Under ring keys (calling.md §4), at a rendezvous or at a relay only.
        case .probeRequest, .probeAnswer, .probePacket, .probeReport:
          probe.handle(
            frame, in: packet, ProbeArrival(of: packet.count, from: source, marks), on: path,
            now: now)
          findings.insert(.probe)
        case .message, .feedback:
          _ = association?.handle(frame, in: packet, from: source, now: now)
          findings.insert(.messages)
        case .padding, .ping, .pong, .credit, .close, .skipped:
          _ = association?.handle(frame, in: packet, from: source, now: now)
        }
      }
    } catch {
      association?.countViolation()
    }
    association?.didReceive(opened, byteCount: byteCount, demand: demand, marks: marks, now: now)
    return findings
  }

  private func handleMedia(
    _ frame: Frame, in packet: Span<UInt8>, now: Instant
  ) -> Findings {
    guard let association else { return [] }
    switch media.handle(frame, in: packet, on: association, now: now) {
    case .audio: return .audio
    case .audioControl: return .audioControl
    case .video: return .video
    case .videoRequest, nil: return []
    }
  }
}

extension Array where Element == UInt8 {
  /// A copy, for what is kept beyond the packet.
  init(copying span: Span<UInt8>) {
    self.init()
    reserveCapacity(span.count)
    for index in 0..<span.count { append(span[index]) }
  }
}
