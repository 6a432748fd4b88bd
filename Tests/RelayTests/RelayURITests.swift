import Testing

@testable import Relay

@Suite struct RelayURITests {
  @Test func `a host that is taken can be written out with its port and transport`() throws {
    let longest = String(repeating: "a", count: 225)
    for scheme in ["turn", "turns"] {
      let uri = try #require(RelayURI("\(scheme):\(longest)"))
      let written = "\(scheme):\(uri.place)?transport=tcp"
      #expect(written.utf8.count <= 255)
      #expect(RelayURI(written)?.host == longest)
      #expect(RelayURI("\(scheme):\(longest)a") == nil)
    }
  }
}
