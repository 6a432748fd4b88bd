/// Which keys travel in which handshake message (Noise rev. 34 §7, §9, appendix).
package struct HandshakePattern: Sendable, Equatable {
  package enum Token: Sendable, Equatable { case e, s, ee, es, se, ss, psk }

  /// The one that Earshot uses (docs/protocol/session.md §2).
  package static let ikPSK2 = HandshakePattern(.ik, presharedKeys: [2])

  /// As in a protocol name, modifiers included: `IKpsk2`.
  package let name: String
  /// Public keys that the other side knows before the first message.
  package let initiatorPremessage: [Token]
  package let responderPremessage: [Token]
  package let messages: [[Token]]
  /// How many pre-shared keys the messages use up.
  package let presharedKeyCount: Int

  /// - Parameter presharedKeys: The modifiers `psk0`, `psk1` …: 0 puts the key before the first
  ///   message, n behind the tokens of message n (Noise rev. 34 §9.4).
  package init(_ fundamental: Fundamental, presharedKeys: [Int] = []) {
    var messages = fundamental.messages
    for position in presharedKeys {
      if position == 0 {
        messages[0].insert(.psk, at: 0)
      } else {
        precondition(position <= messages.count, "a pattern has no such message")
        messages[position - 1].append(.psk)
      }
    }
    name = fundamental.rawValue + presharedKeys.map { "psk\($0)" }.joined(separator: "+")
    initiatorPremessage = fundamental.initiatorPremessage
    responderPremessage = fundamental.responderPremessage
    presharedKeyCount = presharedKeys.count
    self.messages = messages
  }

  /// The whole name of the protocol; there is one suite (Noise rev. 34 §8).
  package var protocolName: String { "Noise_\(name)_25519_ChaChaPoly_SHA256" }

  package var isOneWay: Bool { messages.count == 1 }
}

/// The patterns that have a name (Noise rev. 34 §7.4, §7.5, appendix 18.1). Earshot sends IK only;
/// the others are here so that every published vector runs against the code that ships.
extension HandshakePattern {
  package enum Fundamental: String, Sendable, CaseIterable {
    case n = "N"
    case k = "K"
    case x = "X"
    case nn = "NN"
    case nk = "NK"
    case nx = "NX"
    case xn = "XN"
    case xk = "XK"
    case xx = "XX"
    case kn = "KN"
    case kk = "KK"
    case kx = "KX"
    case `in` = "IN"
    case ik = "IK"
    case ix = "IX"
    case nk1 = "NK1"
    case nx1 = "NX1"
    case x1n = "X1N"
    case x1k = "X1K"
    case xk1 = "XK1"
    case x1k1 = "X1K1"
    case x1x = "X1X"
    case xx1 = "XX1"
    case x1x1 = "X1X1"
    case k1n = "K1N"
    case k1k = "K1K"
    case kk1 = "KK1"
    case k1k1 = "K1K1"
    case k1x = "K1X"
    case kx1 = "KX1"
    case k1x1 = "K1X1"
    case i1n = "I1N"
    case i1k = "I1K"
    case ik1 = "IK1"
    case i1k1 = "I1K1"
    case i1x = "I1X"
    case ix1 = "IX1"
    case i1x1 = "I1X1"

    /// The responder's letter K, or a one-way pattern: its static key is known beforehand.
    var responderPremessage: [Token] {
      switch self {
      case .n, .k, .x: [.s]
      default: rawValue.dropFirst().contains("K") ? [.s] : []
      }
    }

    /// The initiator's letter K: its static key is known beforehand.
    var initiatorPremessage: [Token] { rawValue.first == "K" ? [.s] : [] }

    var messages: [[Token]] {
      switch self {
      case .n: [[.e, .es]]
      case .k: [[.e, .es, .ss]]
      case .x: [[.e, .es, .s, .ss]]
      case .nn: [[.e], [.e, .ee]]
      case .nk: [[.e, .es], [.e, .ee]]
      case .nx: [[.e], [.e, .ee, .s, .es]]
      case .xn: [[.e], [.e, .ee], [.s, .se]]
      case .xk: [[.e, .es], [.e, .ee], [.s, .se]]
      case .xx: [[.e], [.e, .ee, .s, .es], [.s, .se]]
      case .kn: [[.e], [.e, .ee, .se]]
      case .kk: [[.e, .es, .ss], [.e, .ee, .se]]
      case .kx: [[.e], [.e, .ee, .se, .s, .es]]
      case .in: [[.e, .s], [.e, .ee, .se]]
      case .ik: [[.e, .es, .s, .ss], [.e, .ee, .se]]
      case .ix: [[.e, .s], [.e, .ee, .se, .s, .es]]
      default: deferredMessages
      }
    }

    /// Patterns whose authentication comes one message later (Noise rev. 34 §7.6).
    private var deferredMessages: [[Token]] {
      switch self {
      case .nk1: [[.e], [.e, .ee, .es]]
      case .nx1: [[.e], [.e, .ee, .s], [.es]]
      case .x1n: [[.e], [.e, .ee], [.s], [.se]]
      case .x1k: [[.e, .es], [.e, .ee], [.s], [.se]]
      case .xk1: [[.e], [.e, .ee, .es], [.s, .se]]
      case .x1k1: [[.e], [.e, .ee, .es], [.s], [.se]]
      case .x1x: [[.e], [.e, .ee, .s, .es], [.s], [.se]]
      case .xx1: [[.e], [.e, .ee, .s], [.es, .s, .se]]
      case .x1x1: [[.e], [.e, .ee, .s], [.es, .s], [.se]]
      case .k1n: [[.e], [.e, .ee], [.se]]
      case .k1k: [[.e, .es], [.e, .ee], [.se]]
      case .kk1: [[.e], [.e, .ee, .se, .es]]
      case .k1k1: [[.e], [.e, .ee, .es], [.se]]
      case .k1x: [[.e], [.e, .ee, .s, .es], [.se]]
      case .kx1: [[.e], [.e, .ee, .se, .s], [.es]]
      case .k1x1: [[.e], [.e, .ee, .s], [.se, .es]]
      case .i1n: [[.e, .s], [.e, .ee], [.se]]
      case .i1k: [[.e, .es, .s], [.e, .ee], [.se]]
      case .ik1: [[.e, .s], [.e, .ee, .se, .es]]
      case .i1k1: [[.e, .s], [.e, .ee, .es], [.se]]
      case .i1x: [[.e, .s], [.e, .ee, .s, .es], [.se]]
      case .ix1: [[.e, .s], [.e, .ee, .se, .s], [.es]]
      case .i1x1: [[.e, .s], [.e, .ee, .s], [.se, .es]]
      default: []
      }
    }
  }
}
