package import Wire

/// Names one message to whoever sent it.
package struct MessageTag: RawRepresentable, Hashable, Sendable, BitwiseCopyable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// What a `MessageChannel` tells its owner.
package enum MessageEvent: Equatable, Sendable {
  /// A message of the remote side, whole, once and (on an ordered stream) in its place.
  case received(stream: StreamID, bytes: [UInt8])
  /// Messages of a stream will not come: the remote side has given them up.
  ///
  /// - Parameter cached: Whole messages that have waited for them, and come now.
  case missed(stream: StreamID, missed: Int, cached: Int)
  /// The remote side has all of the message.
  case delivered(MessageTag)
  /// The message's life ended before the remote side confirmed all of it; it may have arrived.
  case failed(MessageTag)

  /// Whether it says what came of the application's streams.
  var isOfApplication: Bool {
    switch self {
    case .received(let stream, _), .missed(let stream, _, _): !stream.isControl
    case .delivered, .failed: false
    }
  }
}

/// Why `send` refused a message: a mistake or a limit on this side.
package enum MessageError: Error, Equatable, Sendable {
  /// Longer than `MessageLimits.messageByteCount`.
  case tooLong
  /// Too much waits already; try again when something was delivered.
  case queueFull
  /// The stream does not exist in this kind of session.
  case streamNotAllowed
}

/// How a remote side broke docs/protocol/frames.md §3 or §4; its session is closed with code 2.
package enum MessageFault: Error, Equatable, Sendable {
  /// §4: more bytes than were granted, or more short messages than a window holds.
  case overCredit
  /// §4: a sequence number too far ahead.
  case outsideWindow
  /// §3: index, count or length of a fragment cannot be, or do not fit the fragments before it.
  case fragment
  /// §3: more than 65 536 bytes.
  case messageTooLong
  /// A stream that this kind of session does not have, or one too many.
  case stream
}
