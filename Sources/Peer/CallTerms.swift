import Wire

/// What the two sides of a call have said that they take part with.
struct CallTerms {
  /// What the user wants of the call, once it is accepted.
  var answer = AnswerOptions()
  var own = MediaDescription([.init(.opus, stream: 0)])
  /// What the other side has said.
  var remote = MediaDescription()

  /// Both sides have said that they can.
  var hasCommonVideo: Bool { own.shares(.vp8, with: remote) }
}
