import Primitives
import Testing
import Wire

/// Messages written by hand, each with the verdict that docs/protocol demands.
///
/// A line is `verdict | what it is | bytes`. Verdicts: `take`; `refuse`; `whole`: take, but refuse
/// it cut anywhere and with a byte more. Bytes, between spaces: hexadecimal digits; `x*n`: n times;
/// `n:v`: v in n bytes, little-endian; `'text'`; `$word`: one of `words`.
struct TortureTable: Sendable, CustomTestStringConvertible {
  enum Reader: String, Sendable {
    case frames, packet, rendezvous, signal, control, invite, ringDetails, answer, initPayload, card
  }

  enum Verdict: String, Sendable { case take, whole, refuse }

  struct Line: Sendable {
    let verdict: Verdict
    let name: String
    let bytes: [UInt8]
  }

  let reader: Reader
  let lines: [Line]

  var testDescription: String { reader.rawValue }

  init(reader: Reader, text: String) {
    self.reader = reader
    lines = text.split(separator: "\n").map(Self.line)
  }

  private static func line(_ text: Substring) -> Line {
    let parts = text.split(separator: "|", omittingEmptySubsequences: false)
    guard parts.count == 3, let verdict = Verdict(rawValue: trimmed(parts[0])) else {
      preconditionFailure("not a line of the table: \(text)")
    }
    return Line(verdict: verdict, name: trimmed(parts[1]), bytes: bytes(trimmed(parts[2])))
  }

  /// The bytes that a text of the table means.
  static func bytes(_ text: String) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = Substring(text)
    while let first = rest.first {
      if first == " " {
        rest.removeFirst()
      } else if first == "'" {
        let inner = rest.dropFirst().prefix { $0 != "'" }
        bytes += Array(inner.utf8)
        rest = rest.dropFirst(inner.count + 2)
      } else {
        let token = rest.prefix { $0 != " " }
        bytes += item(String(token))
        rest = rest.dropFirst(token.count)
      }
    }
    return bytes
  }

  private static func item(_ token: String) -> [UInt8] {
    if let word = words[token] { return bytes(word) }
    let repeated = token.split(separator: "*")
    if repeated.count == 2, let count = Int(repeated[1]) {
      let once = bytes(String(repeated[0]))
      return (0..<count).flatMap { _ in once }
    }
    let number = token.split(separator: ":")
    if number.count == 2, let count = Int(number[0]), let value = UInt64(number[1]) {
      return (0..<count).map { UInt8(truncatingIfNeeded: value >> UInt64(8 * $0)) }
    }
    return hexadecimal(token)
  }

  private static func hexadecimal(_ digits: String) -> [UInt8] {
    let values = digits.compactMap(\.hexDigitValue)
    precondition(values.count == digits.count && values.count % 2 == 0, "not bytes: \(digits)")
    return stride(from: 0, to: values.count, by: 2).map {
      UInt8(16 * values[$0] + values[$0 + 1])
    }
  }

  private static func trimmed(_ text: Substring) -> String {
    let start = text.drop { $0 == " " }
    guard let last = start.lastIndex(where: { $0 != " " }) else { return "" }
    return String(start[...last])
  }

  private static let words = [
    "$v4": "04 7f000001 00*12 2:7400",
    "$eight": "01 $v4 01 $v4 01 $v4 02 $v4 02 $v4 02 $v4 03 $v4 03 $v4",
    "$id": "22*32",
    "$call": "33*16",
    "$mac": "44*16",
    "$tai": "40000000 6b49d200 00000000",
    "$invite": "33*16 8:1 00*32 00*32 4:9 4:0",
    "$ecc1": "'ECC1' 01 00 22*32 22*32",
    "$card": "'ECC1' 01 00 22*32 22*32 8:10 8:20 8:1 00*32 00 2:0 00 00*64",
  ]
}

extension TortureTable {
  /// Whether the reader takes all of the bytes.
  func takes(_ bytes: [UInt8]) -> Bool {
    do throws(WireError) {
      try read(bytes)
      return true
    } catch {
      return false
    }
  }

  private func read(_ bytes: [UInt8]) throws(WireError) {
    var reader = ByteReader(bytes.span)
    switch self.reader {
    case .frames:
      var frames = FrameReader(bytes.span)
      while try frames.next() != nil {}
    case .packet:
      if Demultiplexer.classify(bytes.span) == .foreign { throw .invalid("packet", at: 0) }
    case .rendezvous: _ = try RendezvousMessage(parsing: bytes.span)
    case .signal: _ = try SignalBody(parsing: bytes.span)
    case .control: _ = try CallControlMessage(parsing: &reader)
    case .invite: _ = try InvitePayload(parsing: &reader)
    case .ringDetails: _ = try RingDetails(parsing: &reader)
    case .answer: _ = try AnswerPayload(parsing: &reader)
    case .initPayload: _ = try InitPayload(parsing: &reader)
    case .card: _ = try ContactCard(parsing: bytes)
    }
  }
}
