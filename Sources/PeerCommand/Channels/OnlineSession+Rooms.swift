internal import Earshot

/// What channels of calls need of the program that they are in.
extension OnlineSession {
  func pin(of id: PeerID) -> (name: String?, trust: Trust)? {
    Self.pin(of: id, by: options.identity)
  }

  /// The first name that each identity is pinned under here; none where pins cannot be read.
  ///
  /// - Parameter identity: Of this program.
  static func pinnedNames(by identity: String?) -> [PeerID: String] {
    do throws(EarshotError) {
      var names: [PeerID: String] = [:]
      for entry in try ContactBook(identityFile: identity).entries() {
        if case .name(let name) = entry.place { names[entry.id] = names[entry.id] ?? name }
      }
      return names
    } catch {
      return [:]
    }
  }

  /// What somebody is pinned as here, and what that is worth.
  ///
  /// - Parameter identity: Of this program.
  static func pin(of id: PeerID, by identity: String?) -> (name: String?, trust: Trust)? {
    do throws(EarshotError) {
      let entries = try ContactBook(identityFile: identity).entries()
        .filter { $0.id == id }
      for entry in entries {
        if case .name(let name) = entry.place { return (name, entry.trust) }
      }
      return entries.first.map { (nil, $0.trust) }
    } catch {
      return nil
    }
  }

  /// This program does not take the call; another one of the same identity may. So it is busy: a
  /// rejection would end the call for all of them.
  func turnAway(member call: IncomingCall) async {
    do throws(EarshotError) {
      try await endpoint.call(call.id).rejectAsBusy()
    } catch {
      console.log(.info, error.message)
    }
  }
}
