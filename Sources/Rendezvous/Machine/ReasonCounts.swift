/// Why an INIT was dropped without an answer.
package enum InitiationDrop: Int, Sendable, CaseIterable {
  /// It does not parse.
  case malformed
  /// Its MAC1 is wrong, or its cookie.
  case wrongMAC
  /// Its source, proven by a cookie, sends too many; or is owed no more cookies.
  case sourceRate
  /// There is no time for its key agreement, or its source had its share.
  case busy
  /// Its purpose is not to register.
  case wrongPurpose
  /// It does not open, its card is not valid or of another key, it is older than the session that
  /// it would replace, or its identity comes too often.
  case notBelieved
}

/// How often, by reason. The raw values of the reasons count up from 0: a flood of INITs is counted
/// at the cost of an addition.
package struct ReasonCounts<Reason>: Equatable, Sendable
where Reason: CaseIterable & RawRepresentable & Equatable & Sendable, Reason.RawValue == Int {
  private var counts = [UInt64](repeating: 0, count: Reason.allCases.count)

  package init() {}

  package mutating func add(_ reason: Reason) {
    counts[reason.rawValue] &+= 1
  }

  package subscript(_ reason: Reason) -> UInt64 { counts[reason.rawValue] }

  /// All reasons in their order, those that never came too.
  package var all: [(reason: String, count: UInt64)] {
    Reason.allCases.map { ("\($0)", counts[$0.rawValue]) }
  }

  package var total: UInt64 { counts.reduce(0, &+) }
}
