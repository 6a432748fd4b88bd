internal import Primitives

/// Times of claims: RFC 3339, from 1970 to 9999.
package enum TokenTime {
  /// Milliseconds since 1970 UTC; `nil` if `text` is no such time. Digits below a millisecond are
  /// dropped; a leap second is none.
  package static func milliseconds(of text: String) -> UInt64? {
    var reader = Reader(rest: Array(text.utf8)[...])
    guard let year = reader.number(4), year >= 1970, reader.skip("-"),
      let month = reader.number(2), (1...12).contains(month), reader.skip("-"),
      let day = reader.number(2), (1...days(in: month, of: year)).contains(day), reader.skip("T"),
      let hour = reader.number(2), hour < 24, reader.skip(":"),
      let minute = reader.number(2), minute < 60, reader.skip(":"),
      let second = reader.number(2), second < 60,
      let fraction = reader.fraction(), let offset = reader.offset(), reader.rest.isEmpty
    else { return nil }
    let seconds = daysSince1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
    let total = (seconds - offset * 60) * 1000 + fraction
    return total < 0 ? nil : UInt64(total)
  }

  /// To the second: `2026-03-01T12:00:00Z`.
  package static func text(milliseconds: UInt64) -> String {
    String(Timestamp.text(wallMilliseconds: milliseconds).dropLast(5)) + "Z"
  }

  /// With milliseconds, where there are some: `2026-03-01T12:00:00.250Z`.
  package static func exactText(milliseconds: UInt64) -> String {
    milliseconds % 1000 == 0
      ? text(milliseconds: milliseconds) : Timestamp.text(wallMilliseconds: milliseconds)
  }

  private static func days(in month: Int, of year: Int) -> Int {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    return switch month {
    case 2: isLeap ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Days from civil date (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
  private static func daysSince1970(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let fromMarch = month > 2 ? month - 3 : month + 9
    let year = month > 2 ? year : year - 1
    let (era, yearOfEra) = (year / 400, year % 400)
    let dayOfYear = (153 * fromMarch + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }

  private struct Reader {
    var rest: ArraySlice<UInt8>

    mutating func skip(_ letter: Unicode.Scalar) -> Bool {
      guard let first = rest.first, first == UInt8(ascii: letter) else { return false }
      rest.removeFirst()
      return true
    }

    mutating func digit() -> Int? {
      guard let first = rest.first, (0x30...0x39).contains(first) else { return nil }
      rest.removeFirst()
      return Int(first) - 0x30
    }

    /// Exactly so many digits.
    mutating func number(_ count: Int) -> Int? {
      var value = 0
      for _ in 0..<count {
        guard let digit = digit() else { return nil }
        value = value * 10 + digit
      }
      return value
    }

    /// Milliseconds after the dot; 0 without one.
    mutating func fraction() -> Int? {
      guard skip(".") else { return 0 }
      var (value, count) = (0, 0)
      while let digit = digit() {
        if count < 3 { value = value * 10 + digit }
        count += 1
      }
      for _ in min(count, 3)..<3 { value *= 10 }
      return count > 0 ? value : nil
    }

    /// Minutes ahead of UTC.
    mutating func offset() -> Int? {
      if skip("Z") { return 0 }
      let isAhead = skip("+")
      guard isAhead || skip("-"), let hours = number(2), hours < 24, skip(":"),
        let minutes = number(2), minutes < 60
      else { return nil }
      return isAhead ? hours * 60 + minutes : -(hours * 60 + minutes)
    }
  }
}
