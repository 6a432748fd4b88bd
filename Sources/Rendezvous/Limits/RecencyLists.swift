/// The places of a table in lists, each from the one that was touched longest ago to the latest.
/// Every operation but `fullest` takes the same time however many there are.
struct RecencyLists {
  private static let none = UInt32.max

  private struct Ends {
    var first = RecencyLists.none
    var last = RecencyLists.none
    var count: UInt32 = 0
  }

  private struct Links {
    var previous = RecencyLists.none
    var next = RecencyLists.none
    var list = RecencyLists.none
  }

  private var ends: [Ends]
  private var links: [Links] = []

  init(listCount: Int) { ends = Array(repeating: Ends(), count: listCount) }

  /// The list of a key: keys may share one.
  func list(of key: UInt64) -> Int { Int(truncatingIfNeeded: key >> 1) & (ends.count - 1) }

  func count(in list: Int) -> Int { Int(ends[list].count) }

  /// The place touched longest ago.
  func first(in list: Int) -> UInt32? {
    ends[list].first == Self.none ? nil : ends[list].first
  }

  /// The place after another one in its list.
  func next(after place: UInt32) -> UInt32? {
    let next = links[Int(place)].next
    return next == Self.none ? nil : next
  }

  /// The list that a place is in.
  func list(containing place: UInt32) -> Int { Int(links[Int(place)].list) }

  /// The list with the most places; looks at each.
  var fullest: Int {
    var best = 0
    for index in ends.indices where ends[index].count > ends[best].count { best = index }
    return best
  }

  /// Puts a place that is in no list at the end of one.
  mutating func append(_ place: UInt32, to list: Int) {
    while links.count <= Int(place) { links.append(Links()) }
    let last = ends[list].last
    links[Int(place)] = Links(previous: last, next: Self.none, list: UInt32(list))
    if last == Self.none { ends[list].first = place } else { links[Int(last)].next = place }
    ends[list].last = place
    ends[list].count += 1
  }

  /// Takes a place out of its list; harmless when it is in none.
  mutating func remove(_ place: UInt32) {
    guard Int(place) < links.count, links[Int(place)].list != Self.none else { return }
    let link = links[Int(place)]
    let list = Int(link.list)
    if link.previous == Self.none {
      ends[list].first = link.next
    } else {
      links[Int(link.previous)].next = link.next
    }
    if link.next == Self.none {
      ends[list].last = link.previous
    } else {
      links[Int(link.next)].previous = link.previous
    }
    ends[list].count -= 1
    links[Int(place)] = Links()
  }

  /// Makes a place the latest of its list.
  mutating func touch(_ place: UInt32) {
    let list = list(containing: place)
    remove(place)
    append(place, to: list)
  }
}
