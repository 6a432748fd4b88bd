internal import Calling
package import Primitives

/// The command lines that change the pins of one identity, and the errors that advise them.
package struct ContactCommands: Equatable, Sendable {
  /// ` --identity 'FILE'`; empty for the default file, `nil` where there is no file.
  private let option: String?

  /// - Parameter identityFile: Where the identity is; `nil` = in memory.
  package init(identityFile path: String?) {
    guard let path else {
      option = nil
      return
    }
    let quoted = path.replacing("'", with: #"'\''"#)
    option = path == LocalIdentityFile.defaultPath ? "" : " --identity '\(quoted)'"
  }

  /// `earshot contacts forget bob`: a name, an ID, or the address of a rendezvous.
  package func forget(_ target: String) -> String {
    option.map { "earshot contacts forget \(target)\($0)" } ?? "Open another endpoint."
  }

  /// `earshot contacts import ID --as NAME`, with NAME to be chosen.
  package func name(_ id: PeerID) -> String {
    "earshot contacts import \(id) --as NAME" + (option ?? "")
  }

  // MARK: - Errors

  /// Another identity has the name that was dialled.
  package func peerChanged(name: String, expected: PeerID, found: PeerID) -> EarshotError {
    EarshotError(
      .identityChanged,
      "'\(name)' is now the identity \(found); before it was \(expected). The call is blocked.",
      advice: "Ask them by another way; if it is right, run: \(forget(name))")
  }

  /// - Parameters:
  ///   - address: `HOST:PORT`, as it is pinned.
  ///   - isGiven: The user gave the expected ID with the address.
  package func rendezvousChanged(
    _ address: String, isGiven: Bool, expected: PeerID, found: PeerID
  ) -> EarshotError {
    EarshotError(
      .identityChanged,
      "The rendezvous \(address) shows the identity \(found), but \(expected) was expected.",
      advice: "Ask its operator; if the key was replaced, "
        + (isGiven ? "use: --rendezvous \(address)#\(found)" : "run: \(forget(address))"))
  }

  /// A caller claimed a name that is pinned to somebody else, and was refused.
  package func callerRefused(name: String, found: PeerID) -> EarshotError {
    EarshotError(
      .identityChanged,
      "A caller says that it is \(name), and has another identity than the pinned one: \(found).",
      advice: "Only if \(name) confirms the new ID by another way, run: \(forget(name))")
  }

  /// The callee has pinned the own name to another identity.
  package func refusedByPin(_ peer: String, ownName: String) -> EarshotError {
    EarshotError(
      .identityChanged, "\(peer) knows another identity as \(ownName), and refused the call.",
      advice: "Ask them to compare the ID (earshot card), and then to run: "
        + "earshot contacts forget \(ownName)")
  }

  /// What the other side sent after its answer does not fit what it had committed to.
  package static func commitmentBroken(_ peer: String) -> EarshotError {
    EarshotError(
      .identityChanged, "\(peer) did not open its commitment: somebody may be in between.",
      advice: "Call again by another network, and compare the short code by voice.")
  }

  /// What a call that ended calls for, if anything.
  func error(of summary: CallSummary, _ record: CallRecord) -> EarshotError? {
    let peer = record.peerName ?? "The other side"
    if record.role == .callee, record.trust == .changed, let name = record.peerName {
      return callerRefused(name: name, found: summary.peer)
    }
    guard summary.cause == .identityChanged else { return nil }
    guard record.role == .caller, summary.timeline[.accepted] == nil else {
      return Self.commitmentBroken(peer)
    }
    return refusedByPin(peer, ownName: record.ownName ?? "the name of this side")
  }
}
