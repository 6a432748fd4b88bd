package import Earshot

/// Which member is to be removed from a channel: a question, and the key that answers it.
package struct RemovalChoice {
  /// What a member is kept out for by a ban, in seconds.
  static let banSeconds: UInt32 = 3600

  private let choices: [(key: Character, uid: UInt32)]
  package let bans: Bool
  private let names: RoomNames

  /// - Parameter members: All who are there; `nil` is made where nobody but ourselves is.
  package init?(
    _ members: [ChannelUser], own uid: UInt32, bans: Bool, _ names: RoomNames = RoomNames()
  ) {
    self.names = names
    choices = zip(Self.keys, members.lazy.filter { $0.uid != uid }.map(\.uid)).map { ($0, $1) }
    self.bans = bans
    guard !choices.isEmpty else { return nil }
  }

  package var question: String {
    "\(bans ? "Ban for an hour" : "Remove") whom? "
      + choices.map { "\($0.key): \(names.name($0.uid))" }.joined(separator: ", ")
      + "; any other key: nobody."
  }

  /// The member that a key stands for.
  package func uid(for key: Character) -> UInt32? { choices.first { $0.key == key }?.uid }

  /// Of more members than keys the first by uid are named. Without q, which leaves.
  private static let keys = Array("123456789abcdefghijklmnoprstuvwxyz")
}
