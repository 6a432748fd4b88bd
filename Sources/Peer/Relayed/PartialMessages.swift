import Wire

/// Messages of which some parts are there, by their numbers.
struct PartialMessages {
  private struct Entry {
    var parts: [[UInt8]]
    var missing: Int
  }

  private var entries: [UInt32: Entry] = [:]
  private(set) var byteCount = 0

  var count: Int { entries.count }
  var isEmpty: Bool { entries.isEmpty }
  var least: UInt32? { entries.keys.min() }
  var isWithinLimits: Bool { entries.count <= Self.most && byteCount <= Self.mostBytes }

  /// A part that is there already, or of another length of the message, changes nothing.
  mutating func add(_ part: DataPart) {
    let (place, count) = (Int(part.place), Int(part.last) + 1)
    var entry =
      entries.removeValue(forKey: part.number)
      ?? Entry(parts: Array(repeating: [], count: count), missing: count)
    if entry.parts.count == count, entry.parts[place].isEmpty {
      entry.parts[place] = part.bytes
      entry.missing -= 1
      byteCount += part.bytes.count
    }
    entries[part.number] = entry
  }

  /// Takes the message out, if all of it is there.
  mutating func takeWhole(_ number: UInt32) -> [UInt8]? {
    guard entries[number]?.missing == 0 else { return nil }
    return remove(number)
  }

  @discardableResult
  mutating func remove(_ number: UInt32) -> [UInt8] {
    let bytes = entries.removeValue(forKey: number)?.parts.flatMap { $0 } ?? []
    byteCount -= bytes.count
    return bytes
  }

  /// What a host sends in nine seconds.
  static let most = 270
  static let mostBytes = 256 * 1024
}
