package import Primitives

/// ECHO_REQUEST: a client asks its rendezvous to send one packet to it, or to another program of
/// the same identity (docs/protocol/frames.md §12).
package struct EchoRequestFrame: Equatable, Sendable, BitwiseCopyable {
  package static let byteCount = 20
  /// UDP payloads that an echo may have.
  package static let payloadByteCounts = 64...Datagram.maximumByteCount

  /// Where the echo is to come from.
  package enum Source: UInt8, Sendable, CaseIterable, BitwiseCopyable {
    /// From where the rendezvous usually writes to the program that is to hear it.
    case usual = 0
    /// From another port of the same address.
    case otherPort = 1
    /// From the address of the rendezvous that the asking session uses.
    case asker = 2
  }

  /// Comes back in each ECHO.
  package var token: UInt64
  /// Who is to hear it; `every` = the asking session itself.
  package var presence: PresenceID
  package var source: Source
  /// Of the echo, in bytes of UDP payload.
  package var payloadByteCount: UInt16

  package init(
    token: UInt64, presence: PresenceID = .every, source: Source = .usual,
    payloadByteCount: Int = Self.payloadByteCounts.lowerBound
  ) {
    self.token = token
    self.presence = presence
    self.source = source
    self.payloadByteCount = UInt16(clamping: payloadByteCount)
  }

  @_lifetime(reader: copy reader)
  package init(parsing reader: inout ByteReader) throws(WireError) {
    let start = reader.offset
    token = try reader.readUInt64("echo token")
    presence = try PresenceID(parsing: &reader)
    let source = Source(rawValue: try reader.readUInt8("echo source"))
    payloadByteCount = try reader.readUInt16("echo length")
    guard let source, presence != .anyOne,
      Self.payloadByteCounts.contains(Int(payloadByteCount))
    else {
      throw .invalid("echo request", at: start)
    }
    self.source = source
  }

  @_lifetime(packet: copy packet)
  package func write(to packet: inout OutputSpan<UInt8>) {
    packet.append(FrameType.echoRequest)
    packet.append(littleEndian: token)
    packet.append(littleEndian: presence.rawValue)
    packet.append(source.rawValue)
    packet.append(littleEndian: payloadByteCount)
  }
}

/// ECHO: the packet that was asked for, or what became of it (docs/protocol/frames.md §12).
package struct EchoFrame: Equatable, Sendable, BitwiseCopyable {
  package static let byteCount = 10

  package enum Status: UInt8, Sendable, CaseIterable, BitwiseCopyable {
    /// This is the packet.
    case echo = 0
    /// It was sent, and this tells so.
    case sent = 1
    /// The rendezvous has no other port.
    case noOtherPort = 2
    /// The identity has no such program here.
    case noSession = 3
    /// The asking session uses the same address of the rendezvous as the other one.
    case sameAddress = 4
    /// Too many were asked for.
    case tooMany = 5
  }

  package var token: UInt64
  package var status: Status

  package init(token: UInt64, status: Status) {
    self.token = token
    self.status = status
  }

  package init(parsing reader: inout ByteReader) throws(WireError) {
    let start = reader.offset
    token = try reader.readUInt64("echo token")
    guard let status = Status(rawValue: try reader.readUInt8("echo status")) else {
      throw .invalid("echo", at: start)
    }
    self.status = status
  }

  @_lifetime(packet: copy packet)
  package func write(to packet: inout OutputSpan<UInt8>) {
    packet.append(FrameType.echo)
    packet.append(littleEndian: token)
    packet.append(status.rawValue)
  }
}
