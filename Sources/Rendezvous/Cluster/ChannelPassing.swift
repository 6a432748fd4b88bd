import Channels
import Primitives
import SecureSession
import Wire

/// Channels whose members are at several nodes: each has one node, and others pass on what their
/// clients ask and are told (docs/protocol/cluster.md §8).
extension ChannelRequest {
  /// A client here asks.
  func arrive(from slot: UInt32, in machine: inout RendezvousMachine, now: Instant) {
    let address = machine.registry[slot].address
    let program = ChannelProgram(
      id: machine.registry[slot].id, presence: machine.registry[slot].presence.id)
    let mayCheck = machine.mayCheckToken(self, of: slot, now: now)
    guard let shared = machine.store.shared else {
      return machine.handle(self, from: program, at: address, mayCheck: mayCheck, now: now)
    }
    switch ChannelHome(of: channel, shared, now: now) {
    case .here:
      machine.handle(self, from: program, at: address, mayCheck: mayCheck, now: now)
    case .unknown where machine.channels.directory.hasMember(program, stay: stay, of: channel):
      // Who is in a channel of this node keeps what it has.
      machine.handle(self, from: program, at: address, mayCheck: mayCheck, now: now)
    case .unknown: shared.counters.channelRequestsUnanswered &+= 1
    case .node where !mayCheck:
      machine.channels.directory.answer(self, .tooManyRequests, to: program)
      machine.sendChannelNotices(now: now)
    case .node(let home):
      let passed = PassedRequest(
        node: shared.node.number, number: machine.random.next(),
        unixMilliseconds: machine.settings.unixMilliseconds(now),
        joinNumber: machine.channels.directory.lastJoinNumber, id: program.id,
        presence: program.presence, address: address, request: self)
      guard machine.channels.passages.admit(address, machine.limits.passages, now: now),
        shared.pass(.asked(passed), to: home)
      else {
        shared.counters.channelRequestsUnanswered &+= 1
        return
      }
    }
  }
}

extension PassedRequest {
  /// A client of another node asks. The node that passed it on had a signature counted there.
  func deliver(in machine: inout RendezvousMachine, now: Instant) {
    guard let shared = machine.store.shared, node != shared.node.number,
      !machine.settings.isLate(unixMilliseconds, now: now),
      machine.storeWork.passages.insert(number),
      ChannelHome(of: request.channel, shared, now: now) == .here
    else { return }
    machine.channels.directory.raiseJoinNumber(to: joinNumber)
    let program = ChannelProgram(id: id, presence: presence, node: node)
    machine.handle(request, from: program, at: address, mayCheck: true, now: now)
  }
}

extension PassedNotice {
  /// The node that has a channel says something to clients here. Of a node that has it no more
  /// nothing is believed.
  func deliver(in machine: inout RendezvousMachine, now: Instant) {
    guard let shared = machine.store.shared, machine.storeWork.passages.insert(number),
      isGrant || ChannelHome(of: notice.channel, shared, now: now) == .node(shared.hash(of: node))
    else { return }
    if case .welcome(let welcome) = notice.content {
      machine.channels.directory.raiseJoinNumber(to: welcome.joinNumber)
    }
    hand(to: &machine, now: now)
  }

  /// A node gives grants for its relays, whichever node has the channel.
  private var isGrant: Bool { if case .relay = notice.content { true } else { false } }

  /// Gives it to the clients here that it is for.
  func hand(to machine: inout RendezvousMachine, now: Instant) {
    let bytes = RendezvousMessage.channelNotice(notice).bytes
    for program in programs {
      guard let slot = machine.registry.find(program.id, program.presence) else { continue }
      if machine.send(bytes, to: slot, life: AnswerTerms.life, now: now) == nil {
        machine.counters.answersDropped &+= 1
      }
    }
  }
}

extension ServerSettings {
  /// Whether a request of another node was kept back for longer than grants live. Clocks of nodes
  /// may differ by as much.
  func isLate(_ said: UInt64, now: Instant) -> Bool {
    let own = unixMilliseconds(now)
    return max(own, said) - min(own, said) > RelayTable.grantLife
  }
}

/// Notices on their way to programs of other nodes: what is the same for many goes once.
struct NoticePassage {
  private var open: [UInt64: PassedNotice] = [:]

  /// - Returns: What there is no place for beside it, and is to be sent first.
  mutating func append(
    _ notice: ChannelNotice, to program: ChannelProgram, number: UInt64, from node: UInt64
  ) -> (PassedNotice, node: UInt64)? {
    let entry = PassedNotice.Program(id: program.id, presence: program.presence)
    if let waiting = open[program.node], waiting.notice == notice,
      waiting.programs.count < PassedNotice.limit
    {
      open[program.node]?.programs.append(entry)
      return nil
    }
    let next = PassedNotice(node: node, number: number, programs: [entry], notice: notice)
    let former = open.updateValue(next, forKey: program.node)
    return former.map { ($0, program.node) }
  }

  /// All that waits, in an order that does not depend on chance.
  var rest: [(PassedNotice, node: UInt64)] {
    open.sorted { $0.key < $1.key }.map { ($0.value, $0.key) }
  }
}

extension PassedNotice {
  /// Sends it; whom it does not reach learns later that it lacks something.
  func leave(for node: UInt64, in machine: inout RendezvousMachine) {
    guard let shared = machine.store.shared,
      shared.isConnected, shared.pass(.noticed(self), to: shared.hash(of: node))
    else {
      for program in programs {
        machine.channels.directory.handleLoss(
          of: notice, to: ChannelProgram(id: program.id, presence: program.presence, node: node))
      }
      return
    }
  }
}

extension ChannelService {
  /// What the directory says, to programs here and at other nodes.
  static func sendNotices(of machine: inout RendezvousMachine, now: Instant) {
    let own = machine.settings.identity.id.word0
    var passage = NoticePassage()
    while let (program, notice) = machine.channels.directory.pollNotice() {
      if program.isAway {
        let number = machine.random.next()
        let full = passage.append(notice, to: program, number: number, from: own)
        full?.0.leave(for: program.node, in: &machine)
        continue
      }
      let bytes = RendezvousMessage.channelNotice(notice).bytes
      guard let slot = machine.registry.find(program.id, program.presence),
        machine.send(bytes, to: slot, life: AnswerTerms.life, now: now) != nil
      else {
        machine.channels.directory.handleLoss(of: notice, to: program)
        continue
      }
    }
    for (passed, node) in passage.rest { passed.leave(for: node, in: &machine) }
  }

  /// Looks at which channels are here, after the nodes may have changed, or this one lost touch.
  static func settleHomes(in machine: inout RendezvousMachine, now: Instant) {
    guard let shared = machine.store.shared else { return }
    machine.channels.directory.setInTouch(shared.isInTouch(now: now), now: now)
    machine.channels.relays.others.isIncomplete =
      !shared.isInTouch(now: now) || shared.standing.homes.isSettling(now: now)
    machine.channels.relays.others.forgetOld(now: now)
    let (version, isInTouch) = (shared.standing.homes.version, shared.isInTouch(now: now))
    let haveChanged = machine.storeWork.homesVersion != version
    machine.channels.relays.repeatEnded(
      isInTouch: isInTouch, haveNodesChanged: haveChanged,
      unixMilliseconds: machine.settings.unixMilliseconds(now), now: now)
    machine.sendRelayNews(now: now)
    guard isInTouch, haveChanged else { return }
    machine.storeWork.homesVersion = version
    machine.channels.directory.abandon { channel in
      ChannelHome(of: channel, shared, now: now) != .here
    }
    machine.sendChannelNotices(now: now)
  }
}
