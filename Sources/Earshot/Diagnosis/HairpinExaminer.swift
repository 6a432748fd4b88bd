internal import Primitives
internal import Reactor

/// Two sockets of this host that try to reach each other by the addresses that others see of them.
actor HairpinExaminer {
  private let loop: EventLoop
  private let drivers: [MachineDriver<HairpinTrial>]

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe loop.asUnownedSerialExecutor()
  }

  /// Whether either end heard the other; `nil` = it could not be tried. The sockets of the two
  /// pairs must be closed: their ports, and so their mappings, are used again.
  ///
  /// - Parameter bind: The address that sockets are bound to; its port does not count.
  static func examine(_ first: SocketPair, _ second: SocketPair, bind: String) async -> Bool? {
    guard let own = SocketAddress(bind), first.local.port != second.local.port else { return nil }
    do throws(ReactorError) {
      let examiner = try HairpinExaminer(first, second, bind: own)
      return await examiner.isHeard()
    } catch {
      return nil  // A port was taken by somebody else meanwhile.
    }
  }

  private init(
    _ first: SocketPair, _ second: SocketPair, bind: SocketAddress
  ) throws(ReactorError) {
    var random = RandomSource.system
    let (one, other) = (random.bytes(16), random.bytes(16))
    let loop = try EventLoop()
    let now = SystemClock.now
    func driver(_ pair: SocketPair, _ trial: HairpinTrial) throws(ReactorError)
      -> MachineDriver<HairpinTrial>
    {
      var place = bind
      place.port = pair.local.port
      var options = UDPSocket.Options()
      options.slotCount = 4
      options.localAddresses = .never
      let socket = try UDPSocket(binding: place, options)
      return MachineDriver(trial, socket: socket, on: loop)
    }
    drivers = [
      try driver(
        first, HairpinTrial(to: second.seenAs, sends: one, expects: other, now: now)),
      try driver(
        second, HairpinTrial(to: first.seenAs, sends: other, expects: one, now: now)),
    ]
    self.loop = loop
    try loop.start()
  }

  private func isHeard() async -> Bool? {
    defer { loop.stop() }
    let end = SystemClock.now + HairpinTrial.duration
    do throws(ReactorError) {
      for driver in drivers { try driver.start { _ in } }
    } catch {
      return nil
    }
    var isHeard = false
    while !isHeard, SystemClock.now < end {
      await loop.pause(.milliseconds(5))
      isHeard = drivers.contains { driver in driver.readMachine { $0.isHeard } }
    }
    for driver in drivers { driver.stop() }
    return isHeard
  }
}
