import Testing

@testable import Audio

struct OpusLibraryTests {
  @Test func `the library tells its version`() {
    #expect(OpusLibrary.version.hasPrefix("libopus 1."))
  }
}
