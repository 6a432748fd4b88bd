package import Cryptography
import Primitives

/// The keys of one session, or of one epoch of it (docs/protocol/session.md §5). Wiped at the end.
package struct SessionKeys: ~Copyable {
  let send: PacketCipher
  let receive: PacketCipher
  package let exporter: Exporter

  package init(_ split: consuming SplitKeys, role: HandshakeState.Role) {
    let forward = PacketCipher(sessionKey: split.initiatorToResponder)
    let backward = PacketCipher(sessionKey: split.responderToInitiator)
    var chains = SecretBytes(zeros: 64)
    chains.replace(from: 0, with: split.initiatorToResponder.derive("EST1keys", 3).span)
    chains.replace(from: 32, with: split.responderToInitiator.derive("EST1keys", 3).span)
    exporter = Exporter(chains: chains, handshakeHash: split.handshakeHash)
    switch role {
    case .initiator:
      send = forward
      receive = backward
    case .responder:
      send = backward
      receive = forward
    }
  }

  /// The same without a heap block: for a rendezvous.
  package consuming func compact() -> (send: PacketKeys, receive: PacketKeys) {
    (send.compact(), receive.compact())
  }
}

extension SessionKeys {
  /// Makes keys for other uses than sealing packets (docs/protocol/session.md §5).
  package struct Exporter: ~Copyable {
    /// The chain of initiator → responder, then the other.
    private var chains: SecretBytes
    private let handshakeHash: Bytes32

    init(chains: consuming SecretBytes, handshakeHash: Bytes32) {
      self.chains = chains
      self.handshakeHash = handshakeHash
    }

    /// exporter(label) = BLAKE2b-256(chain_i2r, "EST1 exp" ‖ label ‖ chain_r2i ‖ h); the same at
    /// both ends.
    package borrowing func export(_ label: ExporterLabel) -> SecretKey {
      var hash = BLAKE2b(byteCount: 32, key: chains.span.extracting(0..<32))
      hash.update("EST1 exp")
      hash.update(label.text)
      hash.update(chains.span.extracting(32..<64))
      hash.update(handshakeHash.span)
      return SecretKey(hash.finalizeSecret(), from: 0)
    }

    mutating func erase() { chains.erase() }
  }
}

/// The labels of docs/protocol/session.md §5.
package enum ExporterLabel: Sendable {
  case rekeyPSK
  case shortCode
  case hangUp
  case candidates

  var text: StaticString {
    switch self {
    case .rekeyPSK: "rekey-psk"
    case .shortCode: "sas"
    case .hangUp: "hangup"
    case .candidates: "candidates"
    }
  }
}

extension PacketCipher {
  /// The keys of one direction from its key of Split.
  init(sessionKey key: borrowing SecretKey) {
    self.init(aead: key.derive("EST1keys", 1), header: key.derive("EST1keys", 2))
  }
}
