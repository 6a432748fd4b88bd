internal import Earshot
internal import Primitives

/// What channels of calls need of the program that they are in.
extension OnlineSession {
  /// What somebody is pinned as here, and what that is worth.
  func pin(of id: PeerID) -> (name: String?, trust: Trust)? {
    do throws(EarshotError) {
      let entries = try ContactBook(identityFile: options.identity).entries()
        .filter { $0.id == id }
      for entry in entries {
        if case .name(let name) = entry.place { return (name, entry.trust) }
      }
      return entries.first.map { (nil, $0.trust) }
    } catch {
      return nil
    }
  }

  func limitCalls(to count: Int) async {
    do throws(EarshotError) {
      try await endpoint.setMaximumCalls(count)
    } catch {
      console.log(.info, error.message)
    }
  }

  /// This program is not in the channel; another one of the same identity may be. So it is busy:
  /// a rejection would end the call for all of them.
  func turnAway(member call: IncomingCall) async {
    do throws(EarshotError) {
      try await endpoint.call(call.id).rejectAsBusy()
    } catch {
      console.log(.info, error.message)
    }
  }

  /// Whoever was let go, and came all the same.
  func remove(_ user: ChannelUser, of channel: Channel?) async {
    do throws(EarshotError) {
      // No longer than what it has to come in with: it may be invited again.
      try await channel?.remove(user.uid, banSeconds: RoomMarks.entranceSeconds)
    } catch {
      console.log(.warning, error.message)
    }
  }

  func renew(_ token: String, in channel: Channel?) async {
    do throws(EarshotError) {
      try await channel?.renewToken(token)
    } catch {
      // How often there is one is up to the other side.
      console.sayOfOthers("\(error.message) \(error.advice)")
    }
  }

  func say(_ word: ChannelWord, on call: CallID) async {
    do throws(EarshotError) {
      try await endpoint.call(call).send(word)
    } catch {
      console.log(.info, error.message)
    }
  }
}
