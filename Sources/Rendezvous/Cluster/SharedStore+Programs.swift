package import Primitives
package import Wire

/// Programs at this node that others can find, and what passes between nodes.
extension SharedStore {
  /// Tells all nodes of a program here.
  ///
  /// - Parameter audience: Who may learn of it; `nil` = everybody.
  /// - Returns: Whether it is on its way.
  func announce(_ record: PresenceRecord, audience: Audience?, life: Duration) -> Bool {
    guard let connection else { return false }
    let hash = keys.hash(.identity, record.identity.bytes)
    let program = Self.bytes(of: record.presence.id)
    let arguments = [
      hash, program, node.hash, connection, Self.bigEndian(record.serial),
      keys.seal(
        RemotePresence(record, audience: audience).bytes, at: hash + program, random: &random),
      Self.digits(UInt64(clamping: life.milliseconds)),
    ]
    return queue(.announce, arguments, .announced(record)) != nil
  }

  /// Makes sure that a client's name is still its own, and that its card is there: where it is not,
  /// the client must register anew; at once where another one has its name.
  ///
  /// - Parameter rank: Of the name, as far as this node knows it.
  func restore(_ id: PeerID, name: PeerName?, rank: NameRank? = nil, now: UInt64) -> Bool {
    let hash = name.map { keys.hash(.name, $0.bytes) } ?? []
    let mark = rank.map { NonceMark.rank($0) }
    let owner = name == nil ? [] : keys.seal(id.bytes, at: hash, mark: mark, random: &random)
    let arguments = [
      keys.hash(.identity, id.bytes), hash, owner, Self.digits(now), Self.digits(limits.nameLife),
    ]
    return queue(.restore, arguments, .restored(id)) != nil
  }

  /// Tells all nodes that a program here has gone, or is to be back soon; `false` without room.
  func withdraw(_ record: PresenceRecord, isExpected: Bool) -> Bool {
    guard let connection else { return true }
    let arguments = [
      keys.hash(.identity, record.identity.bytes), Self.bytes(of: record.presence.id), node.hash,
      connection, Self.bigEndian(record.serial), [isExpected ? 0x31 : 0x30],
    ]
    return queue(.withdraw, arguments) != nil
  }

  /// Says that this node is there; once a second.
  ///
  /// - Parameter isComplete: All its programs were announced by this connection.
  package func beat(isComplete: Bool, now: Instant) {
    guard let connection else { return }
    let state = standing.state(isComplete: isComplete)
    _ = queue(.beat, [node.hash, connection, [state]] + standing.others, .beat(now, connection))
  }

  /// Says that this node will not be there any more; nothing follows.
  package func leave() {
    if let connection { _ = queue(.beat, [node.hash, connection, [0x34]]) }
    end()
  }

  /// Programs of an identity at other nodes.
  func programs(of id: PeerID) throws(StoreFailure) -> [RemotePresence] {
    guard found.isKnown, found.owner == id || found.target == .id(id) else {
      throw StoreFailure("Redis has not told of the programs at other nodes")
    }
    return found.programs
  }

  /// Whether an identity that has no program here has one elsewhere that `asker` would reach.
  func status(of id: PeerID, for asker: PeerID) throws(StoreFailure) -> LookUpResult.Status {
    let there = try programs(of: id).filter {
      $0.record.presence.kind.isInvited && $0.isVisible(to: asker)
    }
    if there.contains(where: \.isSure) { return .online }
    return there.isEmpty && found.isWhole ? .offline : .unavailable
  }

  /// Whether an identity without a card is nobody's. Who is there, and may be seen, has had one: it
  /// was lost, and comes again.
  func isCertain(for asker: PeerID) -> Bool {
    found.isWhole && !found.programs.contains { $0.isVisible(to: asker) }
  }

  /// Whether what the last ticket brought is all that there is.
  var isFoundWhole: Bool { found.isWhole }

  /// Hands something to another node; `false` where it is not taken.
  @discardableResult
  func send(_ word: NodeWord, to node: UInt64) -> Bool {
    let place = Self.bytes(of: node)
    return send(word, for: place, at: channel(node))
  }

  /// Tells a node of which the hash alone is known.
  func tellNode(_ word: NodeWord, at hash: [UInt8]) {
    _ = send(word, for: Self.all, at: Self.channelPrefix + hash)
  }

  /// Tells all nodes, this one as well; `false` where it is not taken.
  func tellAll(_ word: NodeWord) -> Bool {
    send(word, for: Self.all, at: Self.commonChannel)
  }

  /// Hands what is of a channel to another node; `false` where too much waits for Redis: names and
  /// calls come first.
  func pass(_ word: NodeWord, to hash: [UInt8]) -> Bool {
    guard waiting.count < Self.passageLimit else {
      counters.commandsDropped &+= 1
      return false
    }
    return send(word, for: hash, at: Self.channelPrefix + hash)
  }

  /// A word for all nodes, as Redis says it where a script decides that it is true.
  func seal(_ word: NodeWord) -> [UInt8] { keys.seal(word.bytes, at: Self.all, random: &random) }

  private func send(_ word: NodeWord, for place: [UInt8], at channel: [UInt8]) -> Bool {
    let sealed = keys.seal(word.bytes, at: place, random: &random)
    guard queue(.send, [channel, sealed]) != nil else { return false }
    counters.messagesSent &+= 1
    return true
  }

  /// Tells all nodes that an identity has another device key in place of one that was given up.
  func announceSuperseded(_ id: PeerID, unixSeconds: UInt64) {
    let key = SupersededKey(node: node.number, unixSeconds: unixSeconds, id: id)
    _ = tellAll(.superseded(key))
  }

  /// What another node said to this one, or to all; `nil` for what none of them sealed.
  package func open(_ bytes: [UInt8]) -> NodeWord? {
    guard
      let plain = keys.open(bytes, at: Self.bytes(of: node.number))
        ?? keys.open(bytes, at: node.hash) ?? keys.open(bytes, at: Self.all)
    else {
      counters.messagesInvalid &+= 1
      return nil
    }
    do throws(WireError) {
      let word = try NodeWord(parsing: plain.span)
      counters.messagesReceived &+= 1
      return word
    } catch {
      counters.messagesInvalid &+= 1
      return nil
    }
  }

  /// Where this node listens: what is for it, and what is for all.
  package var channels: [[UInt8]] { [channel(node.number), Self.commonChannel] }

  private func channel(_ node: UInt64) -> [UInt8] {
    Self.channelPrefix + keys.hash(.node, Self.bytes(of: node))
  }

  /// Half of the commands that may wait.
  private static let passageLimit = 4096
  private static let channelPrefix = Array("earshot:to:".utf8)
  private static let commonChannel = Array("earshot:to:all".utf8)
  private static let all = Array("all".utf8)

  private static func bytes(of id: PresenceID) -> [UInt8] { bytes(of: id.rawValue) }

  static func bytes(of number: UInt64) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: number)
    return bytes
  }
}
