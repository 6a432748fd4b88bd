import Primitives
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
      hash, program, node.hash, connection, Self.digits(record.serial),
      keys.seal(
        RemotePresence(record, audience: audience).bytes, at: hash + program, random: &random),
      Self.digits(UInt64(clamping: life.milliseconds)),
    ]
    return queue(.announce, arguments, .promise(record.identity)) != nil
  }

  /// Tells all nodes that a program here has gone.
  func withdraw(_ record: PresenceRecord) {
    guard let connection else { return }
    _ = queue(
      .withdraw,
      [
        keys.hash(.identity, record.identity.bytes), Self.bytes(of: record.presence.id),
        node.hash, connection, Self.digits(record.serial),
      ])
  }

  /// Says that this node is there; once a second.
  ///
  /// - Parameter isComplete: All its programs were announced by this connection.
  package func beat(isComplete: Bool) {
    guard let connection else { return }
    _ = queue(.beat, [node.hash, connection, [isComplete ? 0x31 : 0x30]])
  }

  /// Says that this node will not be there any more; nothing follows.
  package func leave() {
    if let connection { _ = queue(.beat, [node.hash, connection, [0x32]]) }
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
    return there.isEmpty ? .offline : .unavailable
  }

  /// Hands a body to another node; `false` where it is not taken.
  func send(_ message: NodeMessage, to node: UInt64) -> Bool {
    let place = Self.bytes(of: node)
    let sealed = keys.seal(message.bytes, at: place, random: &random)
    guard queue(.send, [channel(node), sealed]) != nil else { return false }
    counters.messagesSent &+= 1
    return true
  }

  /// Tells all nodes that an identity has another device key in place of one that was given up.
  func announceSuperseded(_ id: PeerID, unixSeconds: UInt64) {
    let key = SupersededKey(node: node.number, unixSeconds: unixSeconds, id: id)
    let sealed = keys.seal(key.bytes, at: Self.all, random: &random)
    guard queue(.send, [Self.commonChannel, sealed]) != nil else { return }
    counters.messagesSent &+= 1
  }

  /// What another node said to this one, or to all; `nil` for what none of them sealed.
  package func open(_ bytes: [UInt8]) -> NodeWord? {
    guard
      let plain = keys.open(bytes, at: Self.bytes(of: node.number))
        ?? keys.open(bytes, at: Self.all)
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
    Array("earshot:to:".utf8) + keys.hash(.node, Self.bytes(of: node))
  }

  private static let commonChannel = Array("earshot:to:all".utf8)
  private static let all = Array("all".utf8)

  private static func bytes(of id: PresenceID) -> [UInt8] { bytes(of: id.rawValue) }

  static func bytes(of number: UInt64) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: number)
    return bytes
  }
}
