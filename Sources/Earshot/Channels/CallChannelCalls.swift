internal import Calling
internal import Peer
internal import Primitives
internal import Reactor

/// The calls of a call's channel: what they begin with, how many there may be, and what is said and
/// kept back in them.
struct CallChannelCalls: Sendable {
  let endpoint: Endpoint
  let options: CallChannel.Options
  /// What tells this channel from others of the endpoint.
  private let mark = Mark()
  /// What was set for all; `nil`: each call has what it begins with.
  var mutes: (audio: Bool?, video: Bool?)

  init(_ endpoint: Endpoint, _ options: CallChannel.Options) {
    (self.endpoint, self.options) = (endpoint, options)
    mutes = (options.startsMuted ? true : nil, nil)
  }

  /// - Parameter words: The user data.
  func begin(_ target: String, _ words: String) async throws(EarshotError) -> CallID {
    let settings = settings(words)
    let call = try await endpoint.call(target, options: settings)
    options.onCall(call.id, settings)
    return call.id
  }

  func accept(_ call: CallID) async throws(EarshotError) {
    let settings = settings(nil)
    options.onCall(call, settings)
    try await endpoint.call(call).accept(settings)
  }

  func hangUp(_ call: CallID) async {
    await endpoint.call(call).hangUp()
  }

  /// A member's call that is not taken any more: it finds this side busy.
  func reject(_ call: CallID) async {
    do throws(EarshotError) {
      try await endpoint.call(call).rejectAsBusy()
    } catch {
      // It is over: the caller gave up.
    }
  }

  /// Has them keep the own sound back, or let it go on. The pictures stay as they are.
  func setAudioMuted(_ isMuted: Bool, in calls: [CallID]) async {
    for id in calls {
      do throws(EarshotError) {
        try await endpoint.call(id).setAudioMuted(isMuted)
      } catch {
        continue  // It is over, or has nothing to be heard.
      }
    }
  }

  /// The same of the own pictures.
  func setVideoMuted(_ isMuted: Bool, in calls: [CallID]) async {
    for id in calls {
      do throws(EarshotError) {
        try await endpoint.call(id).setVideoMuted(isMuted)
      } catch {
        continue  // It is over, or has nothing to be seen.
      }
    }
  }

  func say(_ word: ChannelWord, on call: CallID) async {
    do throws(EarshotError) {
      try await endpoint.call(call).send(word)
    } catch {
      options.onStep(.failed(error, .minor))
    }
  }

  /// There is room for the calls of the channel, or no more; calls that the program has besides
  /// keep theirs.
  func setRoom(_ isNeeded: Bool) async {
    await Self.setRoom(endpoint, isNeeded, of: ObjectIdentifier(mark))
  }

  /// Whoever was let go, and came all the same.
  func remove(_ user: ChannelUser, of channel: Channel?) async {
    do throws(EarshotError) {
      // No longer than what it has to come in with: it may be invited again.
      try await channel?.remove(user.uid, banSeconds: CallChannelTimes.entranceSeconds)
    } catch {
      options.onStep(.failed(error, .upkeep))
    }
  }

  func renew(_ token: String, of channel: Channel?, for sake: CallChannel.Sake) async {
    do throws(EarshotError) {
      try await channel?.renewToken(token)
    } catch {
      options.onStep(.failed(error, sake))
    }
  }

  private static func setRoom(
    _ endpoint: isolated Endpoint, _ isNeeded: Bool, of mark: ObjectIdentifier
  ) {
    guard !endpoint.isClosed else { return }
    endpoint.driver.withMachine { machine, _ in
      machine.setPolicy { $0.setRoom(isNeeded, of: mark) }
    }
  }

  private func settings(_ words: String?) -> CallOptions {
    var settings = options.makeCall()
    settings.followsChannels = true
    settings.remembersPeer = false
    settings.rejoin = nil
    settings.startsMuted = mutes.audio ?? settings.startsMuted
    settings.startsVideoMuted = mutes.video ?? settings.startsVideoMuted
    settings.userExtension = words
    return settings
  }
}

extension CallChannelCalls {
  private final class Mark: Sendable {}
}

/// Why nobody can be invited into a call, or somebody cannot.
enum CallChannelRefusal {
  case isOver, isLeft, notConnected, makerHasLeft, hasEnded, isFull
  case isHere(String)
  case noTarget(String)
  case cannotBecome(String)

  var error: EarshotError { EarshotError(.channelState, message, advice: "") }

  private var message: String {
    switch self {
    case .isOver: "The call is over."
    case .isLeft: "The channel of the call was left; nobody can be invited any more."
    case .notConnected: "The call is not connected yet; invite others once it is."
    case .makerHasLeft:
      "Only who made the channel of the call lets others in, and that one has left."
    case .hasEnded: "The channel has ended; nobody can be invited any more."
    case .isFull: "A channel that was a call has at most \(CallChannel.mostMembers) members."
    case .isHere(let name): "\(name) is here already."
    case .noTarget(let text): "'\(text)' is neither a name nor an ID."
    case .cannotBecome(let name):
      "Nobody can be invited: the program of \(name) does not let a call become a channel; it has "
        + "to be a newer one."
    }
  }
}

/// How long things of a call's channel hold, and are waited for.
enum CallChannelTimes {
  /// A token to come in with, and a ban of whoever was let go before, in seconds.
  static let entranceSeconds: UInt32 = 600
  /// To come in: whoever is let go in between has nothing that holds for long.
  static let entranceLife = Duration.seconds(Int64(entranceSeconds))
  /// Longer than any call.
  static let memberLife = Duration.seconds(7 * 86_400)
  /// A rendezvous that is there answers at once; JOIN is repeated each second.
  static let joining = Duration.seconds(5)
  /// Whoever made the channel that stays may have to ask its person first.
  static let strays = CallChannelAccord.patience + .seconds(15)
}

extension IncomingCall {
  /// Whether the caller says that others are there, or are to come: whoever accepts comes into a
  /// channel, and has agreed to it (`CallChannel.Options.hasAgreed`).
  public var invitesToChannel: Bool { userExtension == CallChannelMarks.invitation }
}

/// The user data by which calls of a call's channel are known (docs/protocol/channels.md §8, §10).
package enum CallChannelMarks {
  /// What an invited person's program may say before it is accepted.
  static let invitation = "{\"invitation\":\"channel\"}"

  /// Of a call with a member. All call all: not every program can be called.
  static func member(of channel: ChannelName?) -> String {
    "{\"channel\":\"\(channel?.audience ?? "")\",\"seat\":false}"
  }

  static func isMember(_ call: IncomingCall, of channel: ChannelName) -> Bool {
    let plain = "{\"channel\":\"\(channel.audience)\"}"
    return [member(of: channel), plain].contains(call.userExtension)
  }

  /// Whether a call is one of members of a channel.
  package static func isOfChannel(_ call: IncomingCall) -> Bool {
    call.userExtension?.hasPrefix("{\"channel\":\"") ?? false
  }
}
