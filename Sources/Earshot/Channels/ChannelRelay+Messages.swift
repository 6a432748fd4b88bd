internal import Peer
internal import Reactor
internal import Wire

/// Messages to all members.
extension ChannelRelay {
  /// Sends a message to all members who have a seat at the relay, sealed for them: they get
  /// `ChannelRelayStep.message`. It is sent again until it has arrived. Who joins later does not
  /// get it. A member of before the streams gets those of stream 8 alone.
  ///
  /// It goes out in parts of 1024 bytes: 30 parts a second, fewer to more than 120 members, and at
  /// most a quarter of what the own line carries.
  ///
  /// - Parameters:
  ///   - message: 1 to 65 536 bytes.
  ///   - stream: 8...127; at most 15 of them while this has a seat at one relay. Each has an order
  ///     of its own.
  ///   - ordered: whether receivers are told of it after the ordered ones of its stream before it;
  ///     of another one they are told as soon as all of it is there.
  /// - Returns: What `ChannelRelayStep.messageDelivery` will name.
  /// - Throws: `invalidArgument` for another length, for no stream and for one too many;
  ///   `channelState` without a seat as a host, where 64 messages or 128 KiB wait, and at a relay
  ///   that is too old for it.
  @discardableResult
  public func send(
    _ message: [UInt8], stream: UInt8 = 8, ordered: Bool = true
  ) throws(EarshotError) -> UInt64 {
    guard DataPart.messageByteCounts.contains(message.count) else {
      throw .invalidArgument(
        "A message to a channel cannot have \(message.count) bytes.", advice: "Use 1 to 65536.")
    }
    guard DataPart.streams.contains(stream) else {
      throw .invalidArgument("\(stream) is not a stream.", advice: "Use 8 to 127.")
    }
    messageCount += 1
    let tag = messageCount
    switch driver?.withMachine({ machine, now in
      machine.send(message, stream: stream, isOrdered: ordered, tag: tag, now: now)
    }) {
    case .sent: return tag
    case let refusal: throw EarshotError(refusal)
    }
  }

  /// The seat is given up: of its messages nothing more will be known.
  func forgetMessages(of driver: MachineDriver<ChannelRelayMachine>) {
    for tag in driver.readMachine({ $0.openMessages }) {
      options.onStep(.messageDelivery(tag: tag, delivered: false))
    }
  }
}

extension EarshotError {
  /// Why a message is not sent.
  fileprivate init(_ refusal: ChannelRelayMachine.Sending?) {
    self =
      switch refusal {
      case .tooMany:
        EarshotError(
          .channelState, "Too many messages to the channel wait to be sent.",
          advice: "Send the next one later.")
      case .tooManyStreams:
        .invalidArgument(
          "\(DataPart.mostStreams) streams to the channel are used already.",
          advice: "Use one of them.")
      case .notUnderstood:
        EarshotError(
          .channelState, "The relay does not pass messages on.",
          advice: "Ask its operator for a newer one.")
      case .notPublishing, .sent, nil:
        EarshotError(
          .channelState, "There is no seat at the relay to send from.",
          advice: "Wait for relayConnected, and be a host.")
      }
  }
}
