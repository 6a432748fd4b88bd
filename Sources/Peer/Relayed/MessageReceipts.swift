import Messaging

/// Which of the own messages to a channel its relay has: all parts of one have to be confirmed in
/// the session in which they left.
struct MessageReceipts {
  private struct Open {
    /// Parts that have left and are not confirmed.
    var underWay = 0
    /// Its last part has left.
    var isComplete = false
  }

  /// What has become of one.
  struct Result: Equatable {
    let tag: UInt64
    let isDelivered: Bool
  }

  /// By what their sender named them.
  private var open: [UInt64: Open] = [:]
  private var parts: [MessageTag: UInt64] = [:]

  mutating func begin(_ tag: UInt64) { open[tag] = Open() }

  /// A part has left.
  ///
  /// - Parameter part: `nil` = it could not.
  mutating func handleDeparture(
    of tag: UInt64, as part: MessageTag?, isLast: Bool
  ) -> Result? {
    guard open[tag] != nil else { return nil }  // One of its parts has failed.
    guard let part else { return finish(tag, isDelivered: false) }
    parts[part] = tag
    open[tag]?.underWay += 1
    open[tag]?.isComplete = isLast
    return nil
  }

  /// The session says what has become of a part.
  mutating func handleEnd(of part: MessageTag, isDelivered: Bool) -> Result? {
    guard let tag = parts.removeValue(forKey: part), var found = open[tag] else { return nil }
    guard isDelivered else { return finish(tag, isDelivered: false) }
    found.underWay -= 1
    open[tag] = found
    return found.isComplete && found.underWay == 0 ? finish(tag, isDelivered: true) : nil
  }

  /// The session is over: of what was under way in it nothing more is heard.
  mutating func handleSessionEnd() -> [Result] {
    let lost = Set(parts.values).sorted()
    parts = [:]
    return lost.compactMap { open[$0] == nil ? nil : finish($0, isDelivered: false) }
  }

  /// Messages of which it is not known what has become.
  var openTags: [UInt64] { open.keys.sorted() }

  private mutating func finish(_ tag: UInt64, isDelivered: Bool) -> Result {
    open[tag] = nil
    return Result(tag: tag, isDelivered: isDelivered)
  }
}
