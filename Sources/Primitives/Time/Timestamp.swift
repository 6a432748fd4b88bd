/// Wall time as text.
package enum Timestamp {
  /// RFC 3339 in UTC with milliseconds: `2026-03-01T12:00:00.000Z`.
  package static func text(wallNanoseconds: UInt64) -> String {
    text(wallMilliseconds: wallNanoseconds / 1_000_000)
  }

  /// The same of milliseconds since 1970; the last time with a year of four digits for any later.
  package static func text(wallMilliseconds: UInt64) -> String {
    let milliseconds = min(wallMilliseconds, latestMilliseconds)
    let seconds = milliseconds / 1000
    // Days to civil date (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
    let days = seconds / 86_400 + 719_468
    let era = days / 146_097
    let dayOfEra = days % 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    let time = seconds % 86_400
    return "\(pad(year, 4))-\(pad(month, 2))-\(pad(day, 2))T\(pad(time / 3600, 2))"
      + ":\(pad(time / 60 % 60, 2)):\(pad(time % 60, 2)).\(pad(milliseconds % 1000, 3))Z"
  }

  /// 9999-12-31T23:59:59.999Z.
  private static let latestMilliseconds: UInt64 = 253_402_300_799_999

  /// `0:07`, `12:34`, `1:02:03`.
  package static func clock(seconds: Int) -> String {
    let seconds = max(0, seconds)
    let tail =
      "\(pad(UInt64(seconds / 60 % 60), seconds >= 3600 ? 2 : 1))"
      + ":\(pad(UInt64(seconds % 60), 2))"
    return seconds >= 3600 ? "\(seconds / 3600):\(tail)" : tail
  }

  private static func pad(_ value: UInt64, _ width: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
