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

  @Test func `reads a service and its Sentinels`() throws {
    let plain = try #require(RedisAddress("sentinel://a/main"))
    let one = RedisAddress.Sentinel(host: "a", port: 26379)
    #expect(plain.place == .service("main", sentinels: [one]) && plain.database == 0)
    let whole = try #require(RedisAddress("sentinel://earshot@a:1,[::1],b/my_main.2/5"))
    #expect(
      whole.place
        == .service(
          "my_main.2",
          sentinels: [
            RedisAddress.Sentinel(host: "a", port: 1),
            RedisAddress.Sentinel(host: "::1", port: 26379),
            RedisAddress.Sentinel(host: "b", port: 26379),
          ]))
    #expect(whole.user == "earshot" && whole.database == 5)
    #expect("\(whole)" == "the primary of my_main.2")
  }

  @Test(arguments: [
    "", "sentinel://a", "sentinel://a/", "sentinel:///main", "sentinel://a,/main",
    "sentinel://a/ma in", "sentinel://a/main/x", "sentinel://a/main/1/2", "sentinel://u:p@a/main",
    "sentinel://a,b,c,d,e,f,g,h,i/main", "h:1", "redis://", "redis://:1", "redis://h:",
    "redis://h:x", "redis://h/x",
    "redis://user:password@h", "redis://@h", "rediss://h", "unix://r", "unix:///r?x=1",
    "redis://[::1", "redis://[]:1",
  ])
  func `refuses what is none, and what has a password in it`(text: String) {
    #expect(RedisAddress(text) == nil)
  }
}
