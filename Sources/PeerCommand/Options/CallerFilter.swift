package import Arguments
package import Earshot
package import Primitives

/// Who may ring (`answer --from`): it filters, and accepts nobody.
package struct CallerFilter: Equatable, Sendable {
  private var admitsKnown = false
  private var admitsVerified = false
  private var names: [String] = []
  private var ids: [PeerID] = []
  private let isOpen: Bool

  /// - Parameter text: `known`, `verified`, names and IDs, with commas between; `nil` = everybody.
  package init(_ text: String?) throws(UsageError) {
    isOpen = text == nil
    for word in (text ?? "").split(separator: ",").map(String.init) {
      switch word {
      case "known": admitsKnown = true
      case "verified": admitsVerified = true
      default:
        if let id = PeerID(word) {
          ids.append(id)
          continue
        }
        try OnlineOptions.checkID(word)
        guard OnlineOptions.isName(word) else {
          throw UsageError(
            "--from wants known, verified, names or IDs, not '\(word)'.",
            advice: "Put commas between them, for example --from bob,carol.")
        }
        names.append(word)
      }
    }
    if !isOpen, !admitsKnown, !admitsVerified, names.isEmpty, ids.isEmpty {
      throw UsageError("--from says nobody.", advice: "Use known, verified, names or IDs.")
    }
  }

  package func admits(_ call: IncomingCall) -> Bool {
    admits(call.peer, name: call.nameTrust == .known ? call.name : nil, trust: call.trust)
  }

  /// - Parameters:
  ///   - id: proven by the caller, so it needs no pin.
  ///   - name: that is pinned to the caller's identity; anybody can claim one.
  package func admits(_ id: PeerID, name: String?, trust: Trust) -> Bool {
    if isOpen || ids.contains(id) { return true }
    switch trust {
    case .verified: return admitsVerified || admitsKnown || isNamed(name)
    case .pinned: return admitsKnown || isNamed(name)
    case .new, .changed: return false
    }
  }

  /// Names by which nobody is pinned: whoever has one is turned away.
  package func names(missingIn pins: [ContactBook.Entry]) -> [String] {
    names.filter { name in !pins.contains { $0.place == .name(name) } }
  }

  private func isNamed(_ name: String?) -> Bool { name.map(names.contains) ?? false }
}

extension OnlineSession {
  /// Says which names of `--from` admit nobody: a slip, or a word that is none of its own.
  func tellOfNobody(in filter: CallerFilter) {
    do throws(EarshotError) {
      let pins = try ContactBook(identityFile: options.identity).entries()
      let names = filter.names(missingIn: pins).map { "'\($0)'" }
      guard !names.isEmpty else { return }
      console.log(
        .warning,
        "--from admits nobody by the name \(names.joined(separator: ", ")): no such contact is "
          + "pinned (earshot contacts list; earshot contacts import CARD)")
    } catch {
      // Pins that cannot be read are told when the endpoint opens.
    }
  }
}
