import Cryptography
import Primitives
import Reactor
import Rendezvous
import SecureSession
import Wire

/// A real rendezvous on a loopback port of its own, in this process.
final class LoopbackRendezvous {
  let loop: EventLoop
  let address: SocketAddress
  private let driver: MachineDriver<RendezvousMachine>

  init(binding bound: SocketAddress = SocketAddress(v4: 127, 0, 0, 1, port: 0)) throws {
    var random = RandomSource.system
    let wall = SystemClock.wallNanoseconds / 1_000_000
    var identity = LocalIdentity(kind: .rendezvous, unixSeconds: wall / 1000, random: &random)
    let card = try identity.makeCard(unixSeconds: wall / 1000)
    let settings = ServerSettings(
      identity: identity, card: card, bootCounter: 1, resetKey: random.bytes(32),
      wallMilliseconds: wall - SystemClock.now.nanoseconds / 1_000_000)
    let machine = RendezvousMachine(settings, store: MemoryStore(), random: .system)
    let socket = try UDPSocket(binding: bound)
    socket.sendECNCapable()
    address = socket.localAddress
    loop = try EventLoop()
    driver = MachineDriver(machine, socket: socket, on: loop)
    try driver.start { _ in }
    let port = try SendingPort(beside: address)
    driver.sendFromOtherPort = { bytes, remote, own in port.send(bytes, to: remote, from: own) }
    driver.withMachine { machine, _ in machine.hasOtherPort = true }
    try loop.start()
  }

  /// Ends it. Call it last: an object nobody will use again may go at once, and its loop with it.
  func stop() {
    loop.stop()
    loop.join()
  }
}
