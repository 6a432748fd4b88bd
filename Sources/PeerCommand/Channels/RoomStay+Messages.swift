internal import Earshot

/// What names one delivery of an own message.
enum RoomReceipt: Hashable {
  /// To the relay of a channel, for all who have a seat there.
  case relay(ChannelName, UInt64)
  /// By the call with one member.
  case call(CallID, UInt64)
}

extension RoomStay {
  /// What became of an own message.
  enum Saying {
    /// It is on its way to those who are there.
    case sent(Set<RoomReceipt>)
    /// Nobody can be reached at present, or too much waits.
    ///
    /// - Parameter reason: What a person may have to do about it.
    case later(EarshotError?)
    case refused(String)
  }

  /// Sends a message to all who are there: once to the relay, and by calls to those who have no
  /// seat at it. Who comes later does not get it.
  func say(_ bytes: [UInt8]) async -> Saying {
    guard role == .host else {
      return .refused("Only a host writes to all; key r asks for the other role.")
    }
    var receipts: Set<RoomReceipt> = []
    var trouble: EarshotError?
    var seated: Set<UInt32> = []
    if way.isRelayed, let relay, await relay.standing.verified > 0 {
      do throws(EarshotError) {
        receipts.insert(.relay(channel.name, try await relay.send(bytes)))
        for (user, _) in links.linked where await relay.isSeated(user.uid) {
          seated.insert(user.uid)
        }
      } catch {
        trouble = error
      }
    }
    for (user, call) in links.linked where !seated.contains(user.uid) {
      do throws(EarshotError) {
        receipts.insert(.call(call, try await session.endpoint.call(call).send(bytes)))
      } catch {
        // It is not connected yet, or over, or too much waits.
        session.console.log(.debug, "no message to \(user.uid): \(error.message)")
        if error.code == .invalidArgument { trouble = error }
      }
    }
    if let trouble, trouble.code == .invalidArgument {
      return .refused("\(trouble.message) \(trouble.advice)")
    }
    return receipts.isEmpty ? .later(trouble) : .sent(receipts)
  }
}
