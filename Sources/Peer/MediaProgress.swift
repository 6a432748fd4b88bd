/// How far the media of a call has come, as the call's user and its rules know it.
struct MediaProgress {
  /// Whether media may flow.
  enum Flow { case awaited, announced }
  /// A stream of media, or of probe packets.
  enum Stream { case awaited, begun }
  /// What came and was not polled.
  enum Inbox { case empty, announced }

  var flow = Flow.awaited
  var sent = Stream.awaited
  var heard = Stream.awaited
  var inbox = Inbox.empty
}
