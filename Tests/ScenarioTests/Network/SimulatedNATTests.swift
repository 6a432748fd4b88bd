import Primitives
import Simulation
import Testing

@Suite struct SimulatedNATTests {
  private let inner = SocketAddress(v4: 192, 168, 1, 2, port: 7000)
  private let outer = SocketAddress(v4: 198, 18, 0, 1, port: 0)
  private let server = SocketAddress(v4: 198, 18, 0, 2, port: 7400)
  private let serverElsewhere = SocketAddress(v4: 198, 18, 0, 2, port: 7401)
  private let stranger = SocketAddress(v4: 198, 18, 0, 3, port: 5000)
  private let start = Instant.zero + .seconds(1)

  private func nat(_ behaviour: SimulatedNAT.Behaviour) -> SimulatedNAT {
    SimulatedNAT(behaviour, outerAddress: outer, random: RandomSource(seed: 1))
  }

  /// Which of server, another port of it, and a stranger reach the inner host after it has sent
  /// to the server.
  private func passes(_ behaviour: SimulatedNAT.Behaviour) -> [Bool] {
    var box = nat(behaviour)
    let mapped = box.translate(from: inner, to: server, at: start)
    return [server, serverElsewhere, stranger].map {
      box.receiver(ofPort: mapped.port, from: $0, at: start) == inner
    }
  }

  @Test func `each kind lets in whom RFC 4787 says`() {
    #expect(passes(.endpointIndependent) == [true, true, true])
    #expect(passes(.addressRestricted) == [true, true, false])
    #expect(passes(.portRestricted) == [true, false, false])
    #expect(passes(.symmetric) == [true, false, false])
  }

  @Test func `only a symmetric one shows different ports to different remotes`() {
    for (behaviour, isSame) in [
      (SimulatedNAT.Behaviour.endpointIndependent, true), (.addressRestricted, true),
      (.portRestricted, true), (.symmetric, false),
    ] {
      var box = nat(behaviour)
      let first = box.translate(from: inner, to: server, at: start)
      let second = box.translate(from: inner, to: stranger, at: start)
      #expect((first == second) == isSame)
      #expect(first.isSameHost(as: outer))
    }
  }

  @Test func `a mapping dies of silence, lives on with traffic, and does not survive a rebind`() {
    var box = nat(.portRestricted)
    let mapped = box.translate(from: inner, to: server, at: start)
    let later = start + .seconds(100)
    #expect(box.receiver(ofPort: mapped.port, from: server, at: later) == inner)
    #expect(box.translate(from: inner, to: server, at: later) == mapped)
    #expect(box.receiver(ofPort: mapped.port, from: server, at: later + .seconds(119)) == inner)
    #expect(box.receiver(ofPort: mapped.port, from: server, at: later + .seconds(121)) == nil)
    let again = box.translate(from: inner, to: server, at: later + .seconds(130))
    #expect(again != mapped)
    box.rebind()
    #expect(box.receiver(ofPort: again.port, from: server, at: later + .seconds(130)) == nil)
  }
}
