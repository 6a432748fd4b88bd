/// Events that a handler has not been told yet. Where it does not keep up, what a peer can cause
/// without end is left out and counted; what becomes of calls is not.
struct EventBacklog {
  private var events: [(text: EventText, call: UInt64)] = []
  /// Of the messages among them.
  private var byteCount = 0
  private var leftOut = 0

  mutating func append(_ text: EventText, of call: UInt64) {
    let isFull =
      events.count >= Self.mostEvents || byteCount + text.data.count > Self.mostBytes
    if isFull, text.isUpToPeer {
      leftOut += 1
      return
    }
    byteCount += text.data.count
    events.append((text, call))
  }

  /// Everything, in its order, and last how many were left out.
  mutating func takeAll() -> [(text: EventText, call: UInt64)] {
    defer { self = EventBacklog() }
    return leftOut == 0 ? events : events + [(EventText(leftOut: leftOut), 0)]
  }

  private static let mostEvents = 2048
  private static let mostBytes = 1 << 20
}
