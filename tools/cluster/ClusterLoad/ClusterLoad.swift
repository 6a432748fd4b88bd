import Calling
import Glibc
import Peer
import Primitives
import Reactor
import SecureSession
import Wire

/// All clients on one loop, each with a socket of its own.
final class ClusterLoad {
  private let options: ClusterLoadOptions
  private let loop: EventLoop
  private let wall: Int64
  private var random = RandomSource.system
  private var members: [LoadMember] = []
  private var timer: EventLoop.Token?
  private var signals: SignalWatch?
  private let start = SystemClock.now
  /// Calls that have begun.
  private var begun = 0
  private var firstCall: Instant?
  /// Calls that are to be hung up, the earliest first.
  private var holding: [(call: LoadCall, until: Instant)] = []

  init(_ options: ClusterLoadOptions) throws {
    self.options = options
    loop = try EventLoop()
    let now = SystemClock.now
    wall =
      Int64(SystemClock.wallNanoseconds / 1_000_000) - Int64(now.nanoseconds / 1_000_000)
  }

  func run() throws -> Int32 {
    signals = try SignalWatch([.terminate, .interrupt], on: loop) { [self] _ in loop.stop() }
    timer = try loop.addTimer { [self] now in tick(now: now) }
    if let timer { loop.setDeadline(timer, SystemClock.now) }
    loop.run()
    for member in members {
      member.driver.withMachine { machine, now in machine.shutDown(now: now) }
    }
    return 0
  }

  // MARK: - Each 5 ms, or 100 where nobody calls

  private func tick(now: Instant) {
    let elapsed = now.nanoseconds(since: start)
    guard elapsed < UInt64(options.seconds) * 1_000_000_000 else { return loop.stop() }
    let due = min(options.clients, Int(elapsed / 1_000_000) * options.joins / 1000 + 1)
    while members.count < due, register() {}
    while let next = holding.first, next.until <= now {
      holding.removeFirst()
      if let id = next.call.id { next.call.caller.end(id) }
    }
    call(now: now)
    let pace: Duration = options.calls > 0 ? .milliseconds(5) : .milliseconds(100)
    if let timer { loop.setDeadline(timer, now + pace) }
  }

  /// Begins the calls that are due, once all are registered.
  private func call(now: Instant) {
    guard options.calls > 0, members.count == options.clients else { return }
    guard let firstCall else {
      if members.allSatisfy({ $0.node != nil }) { self.firstCall = now }
      return
    }
    let due = Int(now.nanoseconds(since: firstCall) / 1_000_000) * options.calls / 60_000
    while begun < due {
      begun += 1
      guard let (caller, callee) = pair() else { continue }
      invite(caller, callee)
    }
  }

  /// Two who are in no call.
  private func pair() -> (LoadMember, LoadMember)? {
    for _ in 0..<Self.draws {
      let caller = members[Int(random.next() % UInt64(members.count))]
      let callee = members[Int(random.next() % UInt64(members.count))]
      guard caller !== callee, isFree(caller), isFree(callee) else { continue }
      switch options.pairs {
      case .any: return (caller, callee)
      case .same: if caller.node == callee.node { return (caller, callee) }
      case .other: if caller.node != callee.node { return (caller, callee) }
      }
    }
    return nil
  }

  private func isFree(_ member: LoadMember) -> Bool {
    member.call == nil && member.restsUntil <= SystemClock.now
  }

  // MARK: - Members

  /// - Returns: Whether there is one more.
  private func register() -> Bool {
    do {
      let index = members.count
      let identity = LocalIdentity(
        kind: .peer, unixSeconds: SystemClock.wallNanoseconds / 1_000_000_000, random: &random)
      let id = identity.id
      let place = SocketAddress(
        v4: 127, options.net, UInt8(index / 200), UInt8(1 + index % 200), port: 0)
      var settings = PeerConfiguration(
        rendezvous: options.nodes.nodes[0].addresses[0], wallClockAtZero: wall)
      settings.rendezvousID = options.nodes.root
      settings.rendezvousNodes = options.nodes.bytes
      let socket = try UDPSocket(binding: place, Self.socketOptions)
      settings.hostCandidates = [socket.localAddress]
      let machine = PeerMachine(
        settings, identity: identity, random: .system, now: SystemClock.now)
      let driver = MachineDriver(machine, socket: socket, on: loop)
      let member = LoadMember(index, id, driver)
      members.append(member)
      try driver.start { [self] event in handle(event, member) }
      driver.withMachine { machine, now in machine.register(now: now) }
      return true
    } catch {
      say("{\"type\": \"failed\", \"reason\": \"\(error)\"}")
      loop.stop()
      return false
    }
  }

  private func handle(_ event: PeerEvent, _ member: LoadMember) {
    switch event {
    case .rendezvousIdentified(_, let card): member.node = try? ContactCard(parsing: card).id
    case .registration(let step): handle(step, member)
    case .calling(let step): handle(step, member)
    case .link(let id, .mediaMayFlow): member.speak(in: id)
    case .unresolved(let id, let failure): finish(id, member, "\(failure)")
    default: break
    }
  }

  private func handle(_ step: RegistrationStep, _ member: LoadMember) {
    switch step {
    case .registered:
      let node = member.node.map { "\($0)" } ?? ""
      line("registered", member, "\"node\": \"\(node)\"")
    case .reconnecting: line("reconnecting", member)
    case .failed(let failure): line("refused", member, "\"reason\": \"\(failure)\"")
    case .connecting, .doubted: break
    }
  }

  // MARK: - Calls

  private func invite(_ caller: LoadMember, _ callee: LoadMember) {
    let call = LoadCall(caller, callee, began: SystemClock.now)
    caller.call = call
    callee.call = call
    line("began", caller, "\"began\": \(Self.seconds(call.began.nanoseconds))")
    caller.driver.withMachine { machine, now in
      do throws(PeerRefusal) {
        call.id = try machine.invite(.id(callee.id), InviteOptions(), now: now)
      } catch { finish(call, "\(error)") }
    }
  }

  private func handle(_ step: CallEvent, _ member: LoadMember) {
    switch step {
    case .incoming(let id, _): member.accept(id)
    case .stateChanged(let id, .connected, _):
      guard let call = member.call, call.id == id, member === call.caller else { return }
      let now = SystemClock.now
      call.connected = now
      holding.append((call, now + options.hold))
    case .ended(let summary): finish(summary.callID, member, "\(summary.outcome)", summary.cause)
    default: break
    }
  }

  private func finish(
    _ id: CallID, _ member: LoadMember, _ outcome: String, _ cause: CallCause? = nil
  ) {
    guard let call = member.call, call.id == id, member === call.caller else { return }
    finish(call, outcome, cause)
  }

  private func finish(_ call: LoadCall, _ outcome: String, _ cause: CallCause? = nil) {
    for member in [call.caller, call.callee] {
      member.call = nil
      member.restsUntil = SystemClock.now + Self.rest
    }
    holding.removeAll { $0.call === call }
    let took = call.connected.map { "\(Self.seconds($0.nanoseconds(since: call.began)) * 1000)" }
    line(
      "call", call.caller,
      "\"callee\": \(call.callee.index), \"outcome\": \"\(outcome)\", "
        + "\"cause\": \"\(cause.map { "\($0)" } ?? "")\", \"isOfOneNode\": \(call.isOfOneNode), "
        + "\"began\": \(Self.seconds(call.began.nanoseconds)), \"connectedMs\": \(took ?? "null")")
  }

  // MARK: - Lines

  private func line(_ type: String, _ member: LoadMember, _ more: String = "") {
    let at = Self.seconds(SystemClock.now.nanoseconds)
    let rest = more.isEmpty ? "" : ", " + more
    say("{\"type\": \"\(type)\", \"client\": \(member.index), \"at\": \(at)\(rest)}")
  }

  private func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = unsafe bytes.withUnsafeBytes { unsafe write(1, $0.baseAddress, $0.count) }
  }

  private static func seconds(_ nanoseconds: UInt64) -> Double { Double(nanoseconds) / 1e9 }

  private static var socketOptions: UDPSocket.Options {
    var options = UDPSocket.Options()
    options.slotCount = 4
    return options
  }

  private static let rest = Duration.seconds(2)
  /// Of two members, before a call is left out.
  private static let draws = 200
}
