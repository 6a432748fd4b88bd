internal import Primitives
internal import Reactor

/// Two sockets of this host that try to reach each other by the addresses that others see of them.
actor HairpinExaminer {
  private let loop: EventLoop

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.executor }

  /// Whether either end heard the other; `nil` = it could not be tried. The sockets of the two
  /// pairs must be closed, or about to be: their ports, and so their mappings, are used again.
  ///
  /// - Parameter bind: The address that sockets are bound to; its port does not count.
  static func examine(_ first: SocketPair, _ second: SocketPair, bind: String) async -> Bool? {
    guard let own = SocketAddress(bind), first.local.port != second.local.port else { return nil }
    do throws(ReactorError) {
      let examiner = try HairpinExaminer()
      return await examiner.examine(first, second, bind: own)
    } catch {
      return nil
    }
  }

  private init() throws(ReactorError) {
    loop = try EventLoop()
    try loop.start()
  }

  private func examine(
    _ first: SocketPair, _ second: SocketPair, bind: SocketAddress
  ) async -> Bool? {
    defer { loop.stop() }
    var random = RandomSource.system
    let (one, other) = (random.bytes(16), random.bytes(16))
    let now = SystemClock.now
    let ends = [
      (first.local.port, HairpinTrial(to: second.seenAs, sends: one, expects: other, now: now)),
      (second.local.port, HairpinTrial(to: first.seenAs, sends: other, expects: one, now: now)),
    ]
    var drivers: [MachineDriver<HairpinTrial>] = []
    for (port, trial) in ends {
      guard let driver = await open(trial, on: bind, port: port) else { return nil }
      drivers.append(driver)
    }
    return await isHeard(drivers)
  }

  /// A socket at a port that was somebody's a moment ago.
  private func open(
    _ trial: HairpinTrial, on bind: SocketAddress, port: UInt16
  ) async -> MachineDriver<HairpinTrial>? {
    var place = bind
    place.port = port
    var options = UDPSocket.Options()
    options.slotCount = 4
    options.localAddresses = .never
    for _ in 0..<Self.tries {
      do throws(ReactorError) {
        let socket = try UDPSocket(binding: place, options)
        return MachineDriver(trial, socket: socket, on: loop)
      } catch {
        guard error.isAddressInUse else { return nil }
        await loop.pause(.milliseconds(20))
      }
    }
    return nil
  }

  private func isHeard(_ drivers: [MachineDriver<HairpinTrial>]) async -> Bool? {
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

  /// For a port that is still somebody's: half a second.
  private static let tries = 25
}
