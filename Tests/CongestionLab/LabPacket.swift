/// A packet under way in the laboratory.
struct LabPacket {
  enum Content: UInt8 { case audio, video, padding, report, segment, acknowledgement }

  var flow: Int32 = 0
  var content = Content.padding
  var isReverse = false
  var isECT = false
  var isMarked = false
  /// The next link of its way.
  var hop = 0
  /// On the line.
  var byteCount = 0
  /// A TCP segment's.
  var number: UInt64 = 0
  var sent: UInt64 = 0
  /// Of a media flow: the datagram.
  var bytes: [UInt8] = []
}
