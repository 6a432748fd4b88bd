import Foundation
import Testing

/// The table of docs/ARCHITECTURE.md, crossed off station by station.
struct Tour {
  /// The files of each station, in order.
  let stations: [(number: Int, files: [String])]
  private var passed = 0

  init() throws {
    let document = try String(
      contentsOf: Self.root.appendingPathComponent("docs/ARCHITECTURE.md"), encoding: .utf8)
    let section = document.components(separatedBy: "## The house tour").dropFirst().first ?? ""
    stations = section.split(separator: "\n").compactMap { line in
      let cells = line.split(separator: "|", omittingEmptySubsequences: false)
      guard cells.count == 5,
        let number = Int(cells[1].split(separator: " ").first.map(String.init) ?? "")
      else { return nil }
      let files = cells[2].split(separator: "`").map(String.init).filter { $0.hasSuffix(".swift") }
      return (number, files)
    }
    try #require(stations.count >= 20, "docs/ARCHITECTURE.md holds the table of the house tour")
  }

  /// Crosses off the next station, which must be the one that the test has just been through.
  ///
  /// - Parameter names: the types or methods that the test used there; the station's files must
  ///   declare each of them, and each of its files one of them.
  mutating func pass(_ number: Int, _ names: String...) throws {
    try #require(passed < stations.count, "the tour has no station \(number)")
    let station = stations[passed]
    #expect(station.number == number, "the test is at station \(number), the tour elsewhere")
    var unseen = Set(names)
    for file in station.files {
      let text = try String(
        contentsOf: Self.root.appendingPathComponent("Sources/\(file)"), encoding: .utf8)
      let declared = names.filter { name in
        ["struct ", "class ", "protocol ", "enum ", "func ", "extension "].contains {
          text.contains($0 + name)
        }
      }
      #expect(!declared.isEmpty, "station \(number): the test used nothing that \(file) declares")
      unseen.subtract(declared)
    }
    #expect(unseen.isEmpty, "station \(number): \(station.files) do not declare \(unseen)")
    passed += 1
  }

  var isOver: Bool { passed == stations.count }

  private static var root: URL {
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
  }
}
