internal import Earshot

/// The user data by which calls of a call's channel are known (docs/protocol/channels.md §8, §10).
enum RoomMarks {
  /// What an invited person's program may say before it is accepted.
  static let invitation = "{\"invitation\":\"channel\"}"

  /// Of a call with a member. All call all: not every program can be called.
  static func member(of channel: Channel?) -> String {
    "{\"channel\":\"\(channel?.name.audience ?? "")\",\"seat\":false}"
  }

  static func isMember(_ call: IncomingCall, of channel: Channel) -> Bool {
    let plain = "{\"channel\":\"\(channel.name.audience)\"}"
    return [member(of: channel), plain].contains(call.userExtension)
  }

  /// Whether a call is one of members of a channel.
  static func isOfChannel(_ call: IncomingCall) -> Bool {
    call.userExtension?.hasPrefix("{\"channel\":\"") ?? false
  }

  /// How long a token holds that is to come in with, and a ban of whoever was let go before.
  static let entranceSeconds: UInt32 = 600
}
