/// The head of one HTTP request as it comes in, in however many pieces.
///
/// Every byte is looked at once. A head has limits in bytes and in pieces: no scraper sends one in
/// more than a few.
struct HTTPRequestHead {
  enum State { case incomplete, complete, tooLong }

  static let byteLimit = 4096
  static let pieceLimit = 64

  private(set) var bytes: [UInt8] = []
  /// How many bytes were looked at, for the test.
  private(set) var examinedByteCount = 0
  private var pieceCount = 0
  /// Nothing but carriage returns has come since a line ended.
  private var isAfterLineEnd = false

  mutating func append(_ piece: ArraySlice<UInt8>) -> State {
    pieceCount += 1
    guard bytes.count + piece.count <= Self.byteLimit, pieceCount <= Self.pieceLimit else {
      return .tooLong
    }
    var isComplete = false
    for byte in piece {
      examinedByteCount += 1
      // An empty line ends the head; its CR may be missing (RFC 9112 §2.2).
      if byte == 0x0A {
        if isAfterLineEnd { isComplete = true }
        isAfterLineEnd = true
      } else if byte != 0x0D {
        isAfterLineEnd = false
      }
    }
    bytes += piece
    return isComplete ? .complete : .incomplete
  }

  /// `GET /metrics HTTP/1.1`: the method and the path without its query.
  var methodAndPath: (method: String, path: String) {
    let line = bytes.prefix { $0 != 0x0D && $0 != 0x0A }
    let words = String(decoding: line, as: UTF8.self)
      .split(separator: " ", omittingEmptySubsequences: false)
    let path = words.count >= 2 ? words[1].prefix { $0 != "?" } : ""
    return (String(words.first ?? ""), String(path))
  }
}
