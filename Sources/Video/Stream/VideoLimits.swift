import Wire

/// What bounds the memory and patience of a video stream's two ends.
package enum VideoLimits {
  /// Frame numbers from the oldest to the newest held by either end: two seconds at 30 a second.
  package static let frames = 64
  /// Fragments a receiver holds: 1.2 MB, four seconds at 2.4 Mbit/s.
  package static let fragments = 1024
  /// Bytes of frames that a sender keeps to send again: two seconds at 4 Mbit/s.
  package static let sentByteCount = 1_000_000
  /// Fragments that wait to be sent again: a burst that a whole key frame was lost in.
  package static let retransmissions = 256
  /// Bytes of one encoded frame: 256 fragments.
  package static let frameByteCount =
    VideoMediaFrame.maximumFragmentCount * VideoMediaFrame.payloadByteCounts.upperBound
  /// Times that a fragment is asked for; after these the frame is given up.
  package static let requests = 6
  /// Frames in a row of which nothing came, from which on that was an outage: to send them
  /// all again
  /// would take longer than a key frame, and nobody waits for them.
  package static let gap = 12
  /// How long a fragment that went another way may take: a guess for Wi-Fi and multi-path links.
  package static let reordering = Duration.milliseconds(10)
  /// How long after the last parity a stream counts as one that has it.
  package static let parityMemory = Duration.seconds(1)
  /// How long a gap in a frame may wait for the frame's parity before it is asked for, unless the
  /// next frame comes first: two pictures' time at 30 a second.
  package static let parityWait = Duration.milliseconds(66)
  /// How long a frame of an upper layer, which nothing needs, may hold up the next one.
  package static let patience = Duration.milliseconds(60)
  /// How long a frame may stay undecodable before a key frame is asked for, besides two round
  /// trips and a half.
  package static let blocked = Duration.milliseconds(250)
  /// How long an encoded frame may wait to be sent before it is left out.
  package static let sendDelay = Duration.milliseconds(500)
}
