import Testing

@testable import Video

struct VPXLibraryTests {
  @Test func `the library tells its version`() {
    #expect(VPXLibrary.version.hasPrefix("libvpx v1."))
  }
}
