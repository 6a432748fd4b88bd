import Primitives
import Wire

/// A host's frames, kept and written with copies of those before.
extension Seat {
  /// Keeps a frame, and before it what came only as a copy; the frame's number.
  func keep(
    _ audio: ChannelAudioFrame, _ sealed: Span<UInt8>, in packet: Span<UInt8>,
    _ limits: ForwardingLimits, _ counters: inout ForwardingCounters
  ) -> UInt32 {
    var recovered: UInt32 = 0
    for (copy, _) in copies where isNew(copy, before: audio, limits) { recovered &+= 1 }
    let number = (frames?.newest ?? 0) &+ recovered &+ 1
    for (copy, place) in copies where isNew(copy, before: audio, limits) {
      counters.framesRecovered &+= 1
      frames?.append(
        copy.label(before: audio.label.mediaTime), packet.bytes(at: place),
        recoveredWith: number)
    }
    frames?.append(audio.label, sealed)
    return frames?.newest ?? 0
  }

  /// Whether a copy is of a frame that has not come, and may still be played.
  private func isNew(
    _ copy: ChannelCopyFrame, before audio: ChannelAudioFrame, _ limits: ForwardingLimits
  ) -> Bool {
    guard let frames, Int(copy.distance) <= limits.copyAge else { return false }
    return !frames.has(audio.label.mediaTime &- UInt16(copy.distance))
  }

  /// Writes a frame for a member, before it as many copies as its line needs; how many these are.
  @_lifetime(packet: copy packet)
  func write(
    _ entry: FrameRing.Entry, _ number: UInt32, of frames: FrameRing, to other: Seat,
    _ limits: ForwardingLimits, into packet: inout OutputSpan<UInt8>
  ) -> UInt64 {
    var copiesSent: UInt64 = 0
    let end =
      (Datagram.maximumByteCount - SealedPacket.tagByteCount) - ChannelAudioFrame.headerByteCount
      - entry.byteCount
    var wanted = other.copyCount(limits)
    for step in 1...UInt32(Seat.mostCopies) {
      guard let copy = frames[number &- step] else { break }
      let isRecovered = copy.recoveredWith == number
      guard isRecovered || wanted > 0 else { break }
      if !isRecovered { wanted -= 1 }
      let distance = entry.label.mediaTime &- copy.label.mediaTime
      guard (1...limits.copyAge).contains(Int(distance)),
        packet.count + ChannelCopyFrame.headerByteCount + copy.byteCount <= end
      else { continue }
      ChannelCopyFrame(copy.label, distance: UInt8(truncatingIfNeeded: distance))
        .writeHeader(copy.byteCount, to: &packet)
      frames.write(copy, to: &packet)
      copiesSent &+= 1
    }
    ChannelAudioFrame(source: source, entry.label).writeHeader(to: &packet)
    frames.write(entry, to: &packet)
    return copiesSent
  }

  /// Whether its line loses so much that copies help.
  func wantsCopies(_ limits: ForwardingLimits) -> Bool { loss.share >= limits.lossOfOneCopy }

  private func copyCount(_ limits: ForwardingLimits) -> Int {
    let loss = sound.hasCopies ? loss.share : 0
    return loss >= limits.lossOfTwoCopies ? 2 : loss >= limits.lossOfOneCopy ? 1 : 0
  }
}
