/// What passed a bottleneck, packet by packet, as `emustat` reads it.
package struct LinkLog: Sendable {
  package struct Entry: Sendable {
    package var entered: UInt64
    package var departure: UInt64
    package var wait: UInt64
    package var byteCount: Int32
    package var flow: Int16
    package var content: UInt8
  }

  package internal(set) var entries: [Entry] = []
  /// When something was dropped, and when something was lost that is among the entries.
  package internal(set) var droppedAt: [UInt64] = []
  package internal(set) var lostAt: [UInt64] = []
  /// Of each flow: offered, dropped by the queue, lost on the line.
  package internal(set) var offered: [Int]
  package internal(set) var dropped: [Int]
  package internal(set) var lost: [Int]

  init(flowCount: Int) {
    offered = Array(repeating: 0, count: flowCount)
    dropped = offered
    lost = offered
  }
}
