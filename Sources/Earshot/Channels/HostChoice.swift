/// Of which hosts something holds: of all, or of none, but for some. A host is named by its uid, or
/// by what it has over all its stays.
struct HostChoice<Host: Hashable & Sendable>: Sendable, Equatable {
  /// It holds for whoever is no exception.
  private(set) var all: Bool
  private var others: Set<Host> = []

  init(all: Bool = false) { self.all = all }

  mutating func set(_ isOn: Bool, _ host: Host) {
    if isOn == all { others.remove(host) } else if others.count < Self.most { others.insert(host) }
  }

  mutating func remove(_ host: Host) { others.remove(host) }

  func covers(_ host: Host) -> Bool { all != others.contains(host) }

  /// It holds for every host there may be.
  var isAll: Bool { all && others.isEmpty }

  /// Nothing of an earlier one is left: it is for all or for none, and was not so.
  func startsAnew(after other: HostChoice) -> Bool { others.isEmpty && self != other }

  /// It holds for some, and not for others.
  var hasExceptions: Bool { !others.isEmpty }

  /// More than a relay has sources.
  private static var most: Int { 256 }
}
