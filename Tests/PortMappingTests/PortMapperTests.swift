import PortMapping
import Primitives
import Testing

/// When a router is asked, in simulated time.
@Suite struct PortMapperTests {
  private let start = Instant.zero + .seconds(100)
  private let home = Place.make(1)
  private let office = Place.make(2)

  private enum Place {
    static func make(_ network: UInt8) -> RouterPlace? {
      RouterPlace(
        router: SocketAddress(v4: 192, 168, network, 1, port: 0),
        own: SocketAddress(v4: 192, 168, network, 2, port: 5000))
    }
  }

  private func port(_ seconds: Int64 = 3600, outer: UInt16 = 38_280) -> OpenedPort {
    OpenedPort(
      service: .natPMP, external: SocketAddress(v4: 203, 0, 113, 1, port: outer),
      lifetime: .seconds(seconds))
  }

  /// At home with an open port.
  private func opened(_ port: OpenedPort) throws -> PortMapper {
    var mapper = PortMapper()
    mapper.setPlace(home, now: start)
    let place = try #require(home)
    #expect(mapper.pollJob(now: start) == .open(place, service: nil, wanted: 38_280))
    #expect(mapper.pollJob(now: start) == nil, "one at a time")
    mapper.handleResult(.success(port), now: start)
    return mapper
  }

  @Test func `without a router nobody is asked`() {
    var mapper = PortMapper()
    mapper.setPlace(nil, now: start)
    #expect(mapper.pollJob(now: start) == nil && mapper.nextDeadline == nil)
    mapper.close()
    #expect(mapper.isClosed)
  }

  @Test func `a port is kept open at half its time, and closed at the end`() throws {
    var mapper = try opened(port())
    let place = try #require(home)
    #expect(mapper.opened == port() && mapper.router == place.router)
    #expect(mapper.nextDeadline == start + .seconds(1800))
    #expect(mapper.pollJob(now: start + .seconds(1799)) == nil)
    let half = start + .seconds(1800)
    #expect(mapper.pollJob(now: half) == .open(place, service: .natPMP, wanted: 38_280))
    mapper.handleResult(.success(port(7200, outer: 5001)), now: half)
    // More than an hour is not believed.
    #expect(mapper.nextDeadline == half + .seconds(1800))
    mapper.close()
    #expect(mapper.opened == nil && !mapper.isClosed)
    #expect(mapper.pollJob(now: half) == .close(place, port(7200, outer: 5001)))
    #expect(!mapper.isClosed)
    mapper.handleResult(.success(nil), now: half)
    #expect(mapper.isClosed && mapper.pollJob(now: half) == nil && mapper.nextDeadline == nil)
  }

  @Test(arguments: [RouterFault.silent, .fellSilent, .refused("718"), .notUnderstood])
  func `a router that opens nothing is left in peace for ten minutes`(fault: RouterFault) {
    var mapper = PortMapper()
    mapper.setPlace(home, now: start)
    #expect(mapper.pollJob(now: start) != nil)
    mapper.handleResult(.failure(fault), now: start)
    #expect(mapper.fault == fault && mapper.opened == nil)
    #expect(mapper.nextDeadline == start + .seconds(600))
    #expect(mapper.pollJob(now: start + .seconds(599)) == nil)
    #expect(mapper.pollJob(now: start + .seconds(600)) != nil)
  }

  @Test func `a renewal that fails searches anew, and what lapsed is not told`() throws {
    var mapper = try opened(port(100))
    let place = try #require(home)
    let half = start + .seconds(50)
    #expect(mapper.pollJob(now: half) != nil)
    mapper.handleResult(.failure(.silent), now: half)
    #expect(mapper.opened == port(100), "it is open until it lapses")
    let next = half + .seconds(10)
    #expect(mapper.pollJob(now: next) == .open(place, service: nil, wanted: 38_280))
    mapper.handleResult(.failure(.silent), now: next)
    #expect(mapper.nextDeadline == start + .seconds(100))
    mapper.handleTimeout(now: start + .seconds(100))
    #expect(mapper.opened == nil)
  }

  @Test func `at another router the old port is given back before one is asked for`() throws {
    var mapper = try opened(port())
    let (old, new) = (try #require(home), try #require(office))
    mapper.setPlace(office, now: start)
    #expect(mapper.opened == nil && mapper.owesPorts)
    #expect(mapper.pollJob(now: start) == .close(old, port()))
    #expect(mapper.owesPorts, "until the router has answered")
    mapper.handleResult(.failure(.silent), now: start)
    #expect(!mapper.owesPorts)
    #expect(mapper.pollJob(now: start) == .open(new, service: nil, wanted: 38_280))
    mapper.handleResult(.success(port(outer: 6000)), now: start)
    #expect(mapper.opened == port(outer: 6000))
  }

  @Test func `whoever comes back loses nothing of what is opened anew`() throws {
    var mapper = try opened(port())
    let (here, there) = (try #require(home), try #require(office))
    mapper.setPlace(office, now: start)
    mapper.setPlace(home, now: start)
    #expect(mapper.pollJob(now: start) == .close(here, port()))
    mapper.setPlace(office, now: start)
    mapper.setPlace(home, now: start)
    mapper.handleResult(.success(nil), now: start)
    #expect(mapper.pollJob(now: start) == .open(here, service: nil, wanted: 38_280))
    mapper.handleResult(.success(port()), now: start)
    #expect(mapper.opened == port() && mapper.pollJob(now: start) == nil)
    #expect(here != there)
  }

  @Test func `an answer that comes after the move, or the end, opens nothing`() throws {
    for isClosing in [false, true] {
      var mapper = PortMapper()
      mapper.setPlace(home, now: start)
      #expect(mapper.pollJob(now: start) != nil)
      if isClosing { mapper.close() } else { mapper.setPlace(nil, now: start) }
      #expect(!mapper.owesPorts, "one that is asked for may be called off")
      mapper.handleResult(.success(port()), now: start)
      #expect(mapper.opened == nil)
      #expect(mapper.pollJob(now: start) == .close(try #require(home), port()))
    }
  }

  @Test func `an address that others see and the router does not has it asked, once a minute`()
    throws
  {
    var mapper = try opened(port())
    let seen = SocketAddress(v4: 203, 0, 113, 9, port: 1)
    mapper.handleSeenAddress(SocketAddress(v4: 203, 0, 113, 1, port: 1), now: start)
    #expect(mapper.nextDeadline == start + .seconds(1800))
    mapper.handleSeenAddress(seen, now: start + .seconds(5))
    #expect(mapper.nextDeadline == start + .seconds(60))
    mapper.handleSeenAddress(seen, now: start + .seconds(200))
    #expect(mapper.pollJob(now: start + .seconds(200)) != nil)
  }

  @Test func `a lifetime of nothing keeps nobody busy`() throws {
    var mapper = try opened(port(1))
    mapper.handleTimeout(now: start + .seconds(1))
    #expect(mapper.opened == nil)
    #expect(mapper.nextDeadline == start + .seconds(10))
  }
}
