internal import Audio
internal import Peer
internal import Primitives
internal import Reactor
internal import Wire

/// What stands beside the bytes in the rings between the loop and the media thread: 16 bytes, so
/// that nothing is allocated for it.
struct AudioLabel {
  var kind = AudioKind.frame
  /// Of a frame: of its first sample, in steps of 10 ms.
  var mediaTime: UInt16 = 0
  var length = AudioMediaFrame.Length.milliseconds20
  var isMarked = false
  var hasCopies = false
  /// When the kernel took the packet, in nanoseconds.
  var arrival: UInt64 = 0
  /// What the uplink allows the own audio, in kbit/s on the line: 1 to 511.
  var allowedKilobits = PathConditions.unlimited / 1000
  /// The round trip, smoothed and least, in milliseconds; `nil` before it was measured.
  var roundTrip: (smoothed: UInt16, minimum: UInt16)?

  /// What came in, and the path it came by.
  init(_ audio: ReceivedAudio, _ conditions: PathConditions) {
    self.init(audio.header)
    arrival = audio.arrival.nanoseconds
    allowedKilobits = conditions.allowance / 1000
    roundTrip = conditions.roundTrip.map {
      (UInt16(clamping: $0.smoothed / 1_000_000), UInt16(clamping: $0.minimum / 1_000_000))
    }
  }

  /// What is to go out.
  init(_ header: AudioBodyHeader) {
    kind = header.kind
    mediaTime = header.frame.mediaTime
    length = header.frame.length
    isMarked = header.frame.isMarked
    hasCopies = header.frame.hasCopies
  }

  var header: AudioBodyHeader {
    guard kind == .frame else { return AudioBodyHeader(kind) }
    return AudioBodyHeader(
      AudioMediaFrame(
        length: length, isMarked: isMarked, hasCopies: hasCopies, mediaTime: mediaTime))
  }

  var conditions: PathConditions {
    PathConditions(
      roundTrip: roundTrip.map {
        (UInt64($0.smoothed) * 1_000_000, UInt64($0.minimum) * 1_000_000)
      }, allowance: allowedKilobits * 1000)
  }

  init(_ label: SPSCRing.Label) {
    arrival = label.first
    let bits = label.second
    mediaTime = UInt16(truncatingIfNeeded: bits)
    length = AudioMediaFrame.Length(rawValue: UInt8(bits >> 16 & 3)) ?? .milliseconds20
    isMarked = bits >> 18 & 1 == 1
    hasCopies = bits >> 19 & 1 == 1
    kind = AudioKind(rawValue: UInt8(bits >> 20 & 3)) ?? .frame
    allowedKilobits = Int(bits >> 23 & 511)
    if bits >> 22 & 1 == 1 {
      roundTrip = (
        UInt16(truncatingIfNeeded: bits >> 32), UInt16(truncatingIfNeeded: bits >> 48)
      )
    }
  }

  var packed: SPSCRing.Label {
    var bits = UInt64(mediaTime) | UInt64(length.rawValue) << 16 | UInt64(kind.rawValue) << 20
    if isMarked { bits |= 1 << 18 }
    if hasCopies { bits |= 1 << 19 }
    bits |= UInt64(allowedKilobits) << 23
    if let roundTrip {
      bits |= 1 << 22 | UInt64(roundTrip.smoothed) << 32 | UInt64(roundTrip.minimum) << 48
    }
    return SPSCRing.Label(arrival, bits)
  }
}
