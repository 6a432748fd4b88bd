import Reactor
import Testing

/// What `--version` says.
@Suite struct BuildCommitTests {
  @Test func `the commit stands behind the version where it is known`() {
    #expect(BuildCommit.line("earshot", "0.1.0", commit: "") == "earshot 0.1.0")
    #expect(BuildCommit.line("earshot", "0.1.0", commit: "1b2c3d") == "earshot 0.1.0 (1b2c3d)")
  }

  @Test func `a build that was not told a commit has none`() {
    #expect(BuildCommit.text.isEmpty)
  }
}
