import Calling
import Messaging
package import Primitives
package import Wire

/// A message of the application as it is to be sent (docs/protocol/frames.md §3).
package struct ApplicationMessage: Sendable {
  package var bytes: [UInt8]
  /// 8...127.
  package var stream: UInt8
  package var isOrdered = true
  /// What is lost is sent again.
  package var isReliable = true
  /// It goes behind everything else of the call, as fast as that leaves room, and so does its
  /// stream.
  package var isBulk = false
  /// How long it is tried.
  package var life = Duration.seconds(30)
  /// Media time of the own audio that it goes with, in 10 ms; `nil` = it goes with none.
  package var mediaTime: UInt16?

  package init(_ bytes: [UInt8], stream: UInt8) {
    self.bytes = bytes
    self.stream = stream
  }

  /// The application's stream of `id`; `nil` for the protocol's own.
  static func stream(_ id: StreamID) -> UInt8? { id.isControl ? nil : id.rawValue & 0x7F }

  /// What came on `id`, in the words of the owner; `nil` for what cannot be read.
  static func step(_ bytes: [UInt8], on id: StreamID) -> LinkStep? {
    guard id.isTimed else {
      return .messageReceived(stream: id.rawValue & 0x7F, bytes, mediaTime: nil)
    }
    guard bytes.count >= timeByteCount, bytes[0] >= 8, bytes[0] < 128 else { return nil }
    let mediaTime = UInt16(bytes[1]) | UInt16(bytes[2]) << 8
    return .messageReceived(
      stream: bytes[0], Array(bytes.dropFirst(timeByteCount)), mediaTime: mediaTime)
  }

  /// Where and what goes out.
  private func wire(isTimed: Bool) -> (stream: StreamID, bytes: [UInt8]) {
    guard isTimed, let mediaTime else {
      return (.application(stream, isOrdered: isOrdered), bytes)
    }
    var timed = [stream]
    timed.append(littleEndian: mediaTime)
    return (.timed(isOrdered: isOrdered), timed + bytes)
  }

  /// Stream 1 · media time 2.
  private static let timeByteCount = 3
}

extension ApplicationMessage {
  /// Sends it; one with a time goes without where the other side knows of none.
  func send(on link: CallLink, now: Instant) throws(PeerRefusal) -> MessageTag {
    guard let association = link.association else { throw .noSession }
    let (stream, bytes) = wire(isTimed: link.words.abilities.contains(.moreWords))
    do throws(MessageError) {
      let tag = try association.messages.send(
        bytes, on: stream, life: life, repeats: isReliable, isBulk: isBulk, now: now)
      link.session.applicationTags.append(tag.rawValue)
      return tag
    } catch {
      throw .message(error)
    }
  }

  /// Makes room for so many bytes of messages that are on their way: 128 KiB to 4 MiB.
  package static func makeRoom(
    _ byteCount: Int, on callID: CallID, in machine: inout PeerMachine
  ) throws(PeerRefusal) {
    guard machine.ledger.isOpen(callID), let association = machine.link(callID)?.association else {
      throw .noSession
    }
    association.messages.widen(to: byteCount)
  }

  /// Tells of what came on `stream`. What nobody is told of counts as read.
  static func publish(
    _ bytes: [UInt8], on stream: StreamID, of link: CallLink, in machine: inout PeerMachine
  ) {
    let step = step(bytes, on: stream)
    if let step { machine.publishStep(link, step) }
    guard machine.configuration.limits.unreadMessages > 0 else { return }
    if machine.ledger.isOpen(link.callID), case .messageReceived(_, let told, _)? = step {
      link.association?.messages.countRead(messages: 0, byteCount: bytes.count - told.count)
    } else {
      link.association?.messages.countRead(messages: 1, byteCount: bytes.count)
    }
  }

  /// The application has read messages of a call: as much may come anew
  /// (`PeerLimits.unreadMessages`).
  package static func countRead(
    messages: Int, byteCount: Int, of callID: CallID, in machine: inout PeerMachine, now: Instant
  ) {
    guard let link = machine.link(callID), let association = link.association else { return }
    association.messages.countRead(messages: messages, byteCount: byteCount)
    machine.handleMessages(link, now: now)
    machine.settle(now: now)
  }
}
