package import Cryptography
package import Primitives
package import Wire

/// What both sides must agree on before the first message of a handshake: its prologue
/// (docs/protocol/session.md §2).
package struct HandshakeContext: Sendable {
  package let purpose: HandshakePurpose
  /// The initiator's.
  package let connectionID: ConnectionID
  package let responder: PeerID
  /// Zero for purposes 1 and 4, where the responder does not know it yet.
  package let initiator: PeerID

  package init(
    purpose: HandshakePurpose, connectionID: ConnectionID, responder: PeerID,
    initiator: PeerID = .zero
  ) {
    self.purpose = purpose
    self.connectionID = connectionID
    self.responder = responder
    self.initiator = initiator
  }

  var prologue: [UInt8] {
    var bytes = Array("EST1".utf8)
    bytes.append(SessionWire.version)
    bytes.append(SessionWire.suite)
    bytes.append(purpose.rawValue)
    connectionID.write(to: &bytes)
    responder.write(to: &bytes)
    initiator.write(to: &bytes)
    return bytes
  }
}

extension HandshakeState {
  /// A handshake as Earshot runs them: IKpsk2, and 32 zero bytes where there is no other psk.
  package init(
    _ context: HandshakeContext, role: Role, localStatic: borrowing X25519.KeyPair,
    remoteStatic: Bytes32? = nil, presharedKey: borrowing SecretKey = SecretKey()
  ) throws(HandshakeError) {
    let prologue = context.prologue
    try self.init(
      .ikPSK2, role: role, prologue: prologue.span,
      keys: Keys(
        localStatic: localStatic, remoteStatic: remoteStatic,
        presharedKeys: SecretBytes(copying: presharedKey.span)))
  }
}
