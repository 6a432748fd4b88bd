import Calling
package import Peer
package import Primitives
import SecureSession
package import Wire

/// A person with a program: one identity on one host, its `PeerMachine`, and a user's habits.
package final class SimulatedPeer {
  package struct Heard: Sendable {
    package var call: CallID
    /// In the world's time.
    package var at: Instant
    package var mediaTime: UInt16
  }

  package let name: PeerName
  package let host: SimulatedHost<PeerMachine>
  package var habits = Habits()
  /// Decides anew for each call, when set.
  package var decide: (() -> Habits)?
  package internal(set) var events: [(at: Instant, event: PeerEvent)] = []
  package internal(set) var heard: [Heard] = []
  package internal(set) var isRegistered = false
  package internal(set) var registrations: [Instant] = []
  /// When each call was last heard.
  package internal(set) var lastHeard: [CallID: Instant] = [:]
  /// Accepted by the machine for sending, over all calls.
  package internal(set) var framesSent = 0
  package var userExtension: String?
  /// What it offers and takes part in of video.
  package var video: VideoSettings?
  /// Of the calls that it makes.
  package var uplinkWeight = 1.0
  /// Has no microphone: offers no frames.
  package var isSilent = false
  /// Whether a program that starts has a port opened by its router, where the router does that.
  package var asksRouter = true
  /// Changes what a new machine is configured with.
  package var configure: ((inout PeerConfiguration) -> Void)?

  /// Owns this peer.
  unowned let world: CallWorld
  let clock: SimulatedClock
  /// How far this host's wall clock is ahead of the true time, ms.
  private let wallClockError: Int64
  /// What the identity file holds.
  private let identityFile: [UInt8]
  /// What the file of receipts holds: one for the own name, of the one service of the world.
  private var receiptFile: [UInt8] = []
  /// Whether the program shows receipts; one of a version before does not.
  package var showsReceipts = true
  private var random: RandomSource
  var mediaTime: UInt16 = 0
  /// Calls that media is offered to.
  var pumping: [CallID] = []
  var playout: [UInt8] = []

  init(
    _ name: PeerName, on host: SimulatedNetwork.HostID, in world: CallWorld,
    sharing sibling: SimulatedPeer? = nil, random: RandomSource
  ) {
    self.name = name
    self.world = world
    var random = random
    clock = SimulatedClock(
      origin: .zero + random.duration(.zero ... .seconds(1_000_000)),
      partsPerMillion: Int64(random.below(101)) - 50)
    wallClockError = Int64(random.below(480_000)) - 240_000
    let made = LocalIdentity(
      kind: .peer, unixSeconds: UInt64((world.wallClock + wallClockError) / 1_000),
      random: &random)
    id = sibling?.id ?? made.id
    identityFile = sibling?.identityFile ?? made.storedBytes
    self.random = random
    self.host = SimulatedHost(host, on: world.network, clock: clock)
    self.host.observe = { [unowned self] event, now in observe(event, now) }
  }

  package var hostID: SimulatedNetwork.HostID { host.host }
  package var site: SimulatedNetwork.SiteID { world.network.site(of: hostID) }
  package let id: PeerID

  // MARK: - The program

  package func start() {
    var configuration = PeerConfiguration(
      rendezvous: world.rendezvous.address,
      wallClockAtZero: CallWorld.wallClockAtStart + wallClockError
        - Int64(clock.origin / 1_000_000))
    configuration.rendezvousID = world.rendezvous.id
    configuration.name = name
    configuration.hostCandidates = [world.network.address(of: hostID)]
    if asksRouter { configuration.mappedAddress = world.network.openPort(for: hostID) }
    if showsReceipts { configuration.nameReceipt = receiptFile }
    configure?(&configuration)
    let file = identityFile
    do throws(IdentityFileFault) {
      let identity = try LocalIdentity(stored: file.span)
      var machine = PeerMachine(
        configuration, identity: identity, random: random.split(), now: clock.local(world.now))
      machine.register(now: clock.local(world.now))
      machine.openRelay(now: clock.local(world.now))
      host.start(machine, now: world.now)
    } catch {
      world.testimony.report("\(name): the identity does not read: \(error)")
    }
  }

  func keep(_ receipt: OpaqueReceipt) { receiptFile = receipt.bytes }

  package func crash() {
    world.testimony.crash(hostID)
    pumping.removeAll()
    isRegistered = false
    host.crash(now: world.now)
  }

  /// To another network: the program learns of its new address, as interfaces tell it.
  package func move(to site: SimulatedNetwork.SiteID) {
    world.network.move(hostID, to: site, now: world.now)
    let candidates = [world.network.address(of: hostID)]
    host.command(now: world.now) { machine, now in
      machine.changeHostCandidates(candidates, now: now)
    }
  }

  /// The router is asked, and its answer comes now.
  package func openPort() {
    let address = world.network.openPort(for: hostID)
    host.command(now: world.now) { machine, now in machine.setMappedAddress(address, now: now) }
  }

  /// A second uplink, which the routes do not choose; the program learns of it.
  package func addUplink(
    _ line: AccessConditions, nat: SimulatedNAT.Behaviour? = nil,
    family: SocketAddress.Family = .v4
  ) {
    let site = world.network.addSite(line, nat: nat, family: family)
    let (address, local) = world.network.addUplink(to: hostID, at: site)
    let candidates = [world.network.address(of: hostID), address]
    let alternates = family == .v4 ? [AlternateSource(local, family)] : []
    host.command(now: world.now) { machine, now in
      machine.changeHostCandidates(candidates, alternates: alternates, now: now)
    }
  }

  package func statistics(of call: CallID) -> LinkStatistics? {
    host.command(now: world.now) { machine, _ in machine.statistics(of: call) } ?? nil
  }

  // MARK: - The user

  /// Invites; `nil` when the program refuses, or does not run.
  @discardableResult
  package func call(_ target: CallTarget) -> CallID? {
    world.noteAct()
    var options = InviteOptions()
    options.userExtension = userExtension
    options.video = video
    options.uplinkWeight = uplinkWeight
    options.absence = habits.absence
    options.abilities = habits.abilities
    options.ringTimeout = habits.ringTimeout
    do throws(PeerRefusal) {
      return try host.command(now: world.now) { machine, now throws(PeerRefusal) in
        let call = try machine.invite(target, options, now: now)
        world.log.note(at: world.now, "\(name) calls: \(call)")
        world.testimony.begin(call, at: hostID, isCaller: true, now: world.now)
        beginMedia(call)
        planPatience(call)
        return call
      }
    } catch {
      world.log.note(at: world.now, "\(name) may not call: \(error)")
      return nil
    }
  }

  @discardableResult
  package func accept(_ call: CallID) -> Bool {
    act("accepts", call) { machine, now throws(PeerRefusal) in
      var options = AnswerOptions()
      options.userExtension = userExtension
      options.video = video
      options.absence = habits.absence
      options.abilities = habits.abilities
      try machine.accept(call, options, now: now)
    }
  }

  @discardableResult
  package func reject(_ call: CallID) -> Bool {
    act("rejects", call) { machine, now throws(PeerRefusal) in
      try machine.reject(call, .declined, text: "not now", now: now)
    }
  }

  /// Cancels, rejects or hangs up, as the call stands.
  @discardableResult
  package func end(_ call: CallID) -> Bool {
    act("ends", call) { machine, now throws(PeerRefusal) in try machine.end(call, now: now) }
  }

  /// Tells the other side that nothing will be heard.
  @discardableResult
  package func mute(_ call: CallID) -> Bool {
    isSilent = true
    world.testimony.expectSilence(call)
    return act("mutes", call) { machine, now throws(PeerRefusal) in
      try machine.setAudioMuted(call, true, now: now)
    }
  }

  /// Whether the program did it.
  private func act(
    _ what: String, _ call: CallID,
    _ body: (inout PeerMachine, Instant) throws(PeerRefusal) -> Void
  ) -> Bool {
    world.noteAct()
    do throws(PeerRefusal) {
      let isDone = try host.command(now: world.now, body) != nil
      world.log.note(at: world.now, "\(name) \(what): \(call)")
      return isDone
    } catch {
      world.log.note(at: world.now, "\(name) \(what), refused (\(error)): \(call)")
      return false
    }
  }
}
