import Redis
import Testing

@Suite struct RedisAddressTests {
  @Test func `reads hosts, ports, users, databases and sockets`() throws {
    let plain = try #require(RedisAddress("redis://h"))
    #expect(plain.place == .host("h", port: 6379) && plain.user == nil && plain.database == 0)
    let whole = try #require(RedisAddress("redis://earshot@[::1]:7000/3"))
    #expect(whole.place == .host("::1", port: 7000))
    #expect(whole.user == "earshot" && whole.database == 3)
    let socket = try #require(RedisAddress("unix:///run/redis.sock?db=2"))
    #expect(socket.place == .socket("/run/redis.sock") && socket.database == 2)
    #expect(RedisAddress("unix://earshot@/run/r")?.user == "earshot")
  }

  @Test(arguments: [
    "", "h:1", "redis://", "redis://:1", "redis://h:", "redis://h:x", "redis://h/x",
    "redis://user:password@h", "redis://@h", "rediss://h", "unix://r", "unix:///r?x=1",
    "redis://[::1", "redis://[]:1",
  ])
  func `refuses what is none, and what has a password in it`(text: String) {
    #expect(RedisAddress(text) == nil)
  }
}
