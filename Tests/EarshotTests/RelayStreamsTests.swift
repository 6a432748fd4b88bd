import Primitives
import Reactor
import Relay
import Testing
import Wire

@testable import Earshot

@Suite struct RelayStreamsTests {
  private let server = SocketAddress(v4: 192, 0, 2, 1, port: 3478)

  @Test func `what leaves by a stream that is not there is lost`() {
    let streams = RelayStreams(authorities: "ca.pem")
    #expect(streams.authorities == "ca.pem" && streams.link(.stream(1)) == nil)
    streams.send([0x40, 0, 0, 0], by: .stream(1))
    streams.add(RelayStreams.Link(server: server), as: .stream(1))
    streams.send([0x40, 0, 0, 0], by: .stream(1))
    #expect(streams.link(.stream(1))?.server == server)
    streams.close(.stream(2))
    streams.closeAll()
    #expect(streams.link(.stream(1)) == nil)
  }

  @Test(arguments: [("/nowhere.pem", "No such file"), ("/etc/passwd", "no certificate")])
  func `an endpoint does not start with authorities that are none`(
    path: String, word: String
  ) async throws {
    var configuration = Configuration(rendezvous: "127.0.0.1:9")
    configuration.relayAuthorities = path
    let error = await #expect(throws: EarshotError.self) {
      _ = try await Endpoint.open(configuration)
    }
    #expect(error?.code == .fileUnusable)
    #expect(error?.message.contains(path) == true && error?.message.contains(word) == true)
    #expect(error?.advice.contains("--turn-ca") == true)
  }

  @Test func `of offers that come while one is looked up only the last is kept`() {
    let streams = RelayStreams(authorities: nil)
    let offers = (0..<3).map { number in
      RelayOffer(
        lifeSeconds: 1,
        servers: [RelayOffer.Server(uri: "turn:h\(number)", user: "u", password: "p")])
    }
    #expect(streams.keep(offers[0]) && streams.takeOffer() == offers[0])
    #expect(!streams.keep(offers[1]) && !streams.keep(offers[2]))
    #expect(streams.takeOffer() == offers[2] && streams.takeOffer() == nil)
    #expect(streams.keep(offers[0]))
  }

  @Test func `the end of a stream has its reason`() {
    #expect(RelayError(StreamFailure.unreachable("refused")) == .noAnswer)
    #expect(RelayError(StreamFailure.lost("reset")) == .connectionLost)
    for failure in [StreamFailure.untrusted("expired"), .insecure("expired")] {
      let error = EarshotError(RelayError(failure))
      #expect(error.message.contains("expired") && error.advice.contains("--turn-ca"))
    }
  }

  @Test func `a stream is no address of a socket's`() {
    #expect(LocalAddressID.stream(0).isStream && LocalAddressID.stream(255).isStream)
    #expect(!LocalAddressID.relay.isStream && !LocalAddressID.unspecified.isStream)
    #expect(!LocalAddressID(rawValue: 64).isStream)
  }
}
