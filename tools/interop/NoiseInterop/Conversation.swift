import Cryptography
import Primitives
import SecureSession
import Wire

/// The state between the lines of `main.swift`.
struct Conversation: ~Copyable {
  private var handshake: HandshakeState?
  private var role = HandshakeState.Role.initiator
  private var random = RandomSource(replaying: [])
  private var sealing = CipherState()
  private var opening = CipherState()

  /// The answer to one command; `nil` if it failed.
  mutating func answer(_ fields: [String]) -> String? {
    let arguments = fields.dropFirst().map(Self.bytes)
    switch fields.first {
    case "start": return start(fields)
    case "write": return write(arguments.first ?? [])
    case "read": return read(arguments.first ?? [])
    case "split": return split()
    case "seal": return seal(arguments.first ?? [])
    case "open": return open(arguments.first ?? [])
    case "frames": return Self.verdict(on: arguments.first ?? [])
    default: return nil
    }
  }

  private mutating func start(_ fields: [String]) -> String? {
    guard fields.count >= 6, let staticKey = SecretKey(copying: Self.bytes(fields[3]).span) else {
      return nil
    }
    role = fields[1] == "initiator" ? .initiator : .responder
    random = RandomSource(replaying: Self.bytes(fields[4]))
    let pair = X25519.KeyPair(privateKey: staticKey)
    let publicKey = Self.hex(pair.publicKey.bytes)
    let remoteStatic = fields.count > 6 ? Bytes32(Self.bytes(fields[6])) : nil
    do throws(HandshakeError) {
      handshake = try HandshakeState(
        .ikPSK2, role: role, prologue: Self.bytes(fields[2]).span,
        keys: HandshakeState.Keys(
          localStatic: pair, remoteStatic: remoteStatic,
          presharedKeys: SecretBytes(copying: Self.bytes(fields[5]).span)))
      return publicKey
    } catch {
      return nil
    }
  }

  private mutating func write(_ payload: [UInt8]) -> String? {
    do throws(HandshakeError) {
      let message = try handshake?.writeMessage(payload: payload.span, random: &random)
      return message.map(Self.hex)
    } catch {
      return nil
    }
  }

  private mutating func read(_ message: [UInt8]) -> String? {
    do throws(HandshakeError) {
      let payload = try handshake?.readMessage(message.span)
      return payload.map(Self.hex)
    } catch {
      return nil
    }
  }

  private mutating func split() -> String? {
    guard let handshake = handshake.take(), let keys = handshake.split() else { return nil }
    let hash = Self.hex(keys.handshakeHash.bytes)
    let isInitiator = role == .initiator
    sealing = CipherState(
      key: isInitiator ? keys.initiatorToResponder.clone() : keys.responderToInitiator.clone())
    opening = CipherState(
      key: isInitiator ? keys.responderToInitiator.clone() : keys.initiatorToResponder.clone())
    return hash
  }

  private mutating func seal(_ text: [UInt8]) -> String? {
    var sealed: [UInt8] = []
    do throws(HandshakeError) {
      try sealing.seal(text.span, associated: Span(), appendingTo: &sealed)
      return Self.hex(sealed)
    } catch {
      return nil
    }
  }

  private mutating func open(_ sealed: [UInt8]) -> String? {
    do throws(HandshakeError) {
      return Self.hex(try opening.open(sealed.span, associated: Span()))
    } catch {
      return nil
    }
  }

  /// Whether the frames of a packet can be read, all of them.
  private static func verdict(on packet: [UInt8]) -> String {
    var reader = FrameReader(packet.span)
    do throws(WireError) {
      while try reader.next() != nil {}
      return "taken"
    } catch {
      return "refused"
    }
  }

  private static func bytes(_ text: String) -> [UInt8] {
    if text == "-" { return [] }
    var bytes: [UInt8] = []
    var rest = Substring(text)
    while let byte = UInt8(rest.prefix(2), radix: 16) {
      bytes.append(byte)
      rest = rest.dropFirst(2)
    }
    return bytes
  }

  private static func hex(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    let text = bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    return bytes.isEmpty ? "-" : String(decoding: text, as: UTF8.self)
  }
}
