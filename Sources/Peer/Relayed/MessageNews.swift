/// What a member is told of a host's messages to the channel.
package enum MessageNews: Equatable, Sendable {
  /// A whole one, in its place if it is one in order.
  case message(stream: UInt8, [UInt8])
  /// Some of a stream have not come, and are not waited for any longer.
  ///
  /// - Parameter cached: Whole ones in order that have waited for them, and come now.
  case missed(stream: UInt8, missed: Int, cached: Int)
}
