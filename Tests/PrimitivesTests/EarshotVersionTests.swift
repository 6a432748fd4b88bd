import Primitives
import Testing

/// What `--version` prints, and what docs/CHANGELOG.md begins with.
@Suite struct EarshotVersionTests {
  @Test func `it is a semantic version`() {
    let parts = EarshotVersion.text.split(separator: ".", omittingEmptySubsequences: false)
    #expect(parts.count == 3)
    for part in parts {
      #expect(UInt16(part).map { String($0) } == String(part), "a number without leading zeros")
    }
  }
}
