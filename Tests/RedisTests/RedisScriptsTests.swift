import Rendezvous
import Testing

@testable import Redis

@Suite struct RedisScriptsTests {
  @Test func `every script has a text, but for what is a command of its own`() {
    for script in SharedScript.allCases {
      #expect((RedisScripts.text(of: script) == nil) == (script == .send))
    }
  }
}
