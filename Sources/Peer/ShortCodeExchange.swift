import Cryptography
import Primitives
import SecureSession

/// The numbers behind the six letters that both sides compare by voice (docs/protocol/calling.md
/// §5): the caller's r_A, promised in INVITE and opened by CONFIRM, and the callee's r_B in ACCEPT.
struct ShortCodeExchange: ~Copyable {
  /// What CONFIRM brought.
  enum Opening {
    /// It is not this side's to read, not now, or not well formed.
    case ignored
    /// It does not open the promise: somebody is between the two.
    case broken
    case opened
  }

  /// What the callee was promised r_A would be.
  var commitment = Bytes32.zero
  var calleeNumber = Bytes16.zero
  private(set) var callerNumber = Bytes32.zero
  /// The letters are known.
  private var isSettled = false
  /// The callee's, until CONFIRM brings the caller's number.
  private var key: SecretKey?

  /// The caller draws r_A; gives what it promises.
  mutating func promise(random: inout RandomSource) -> Bytes32 {
    callerNumber = Bytes32(random: &random)
    return ShortCode.commitment(to: callerNumber)
  }

  /// From the moment that the session's keys are there.
  mutating func setKey(_ key: consuming SecretKey) { self.key = consume key }

  mutating func eraseKey() { key = nil }

  /// CONFIRM has come to the callee.
  mutating func open(_ bytes: [UInt8]) -> Opening {
    guard !isSettled, let number = Bytes32(bytes) else { return .ignored }
    guard ShortCode.commitment(to: number) == commitment else { return .broken }
    callerNumber = number
    return .opened
  }

  /// The letters, once; `nil` without a key.
  mutating func settle(caller: PeerID, callee: PeerID) -> String? {
    guard let key = key.take() else { return nil }
    isSettled = true
    return ShortCode.letters(
      key: key, callerNumber: callerNumber, calleeNumber: calleeNumber, caller: caller,
      callee: callee)
  }
}
