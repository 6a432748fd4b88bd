package import Arguments
package import Earshot
internal import MediaFiles
package import Reactor

/// `earshot join ROOM`: joins a channel, talks with all who are there in a mesh, until it is told
/// to leave.
package struct JoinCommand: Sendable {
  package var online: OnlineOptions
  package var room: ChannelName
  package var role: ChannelRole
  /// 0 = any.
  package var uid: UInt32
  package var play: String?
  package var isLooped: Bool
  package var save: String?
  /// Seconds in the channel; `nil` until the user leaves.
  package var duration: Double?
  /// Whether audio goes by a relay, sealed, and not from host to host.
  package var usesRelay: Bool
  package var bitrate: Int
  /// The file of the channel's token.
  package var channelToken: String?

  package init(
    _ arguments: consuming Arguments, variable: (String) -> String?
  ) throws(UsageError) {
    var arguments = arguments
    try arguments.refuse(NotYet.options(of: .join))
    online = try OnlineOptions(&arguments, variable: variable)
    let role = try arguments.choice("--role", of: ChannelRole.allCases.map(\.rawValue))
    self.role = role.flatMap(ChannelRole.init) ?? .host
    uid = UInt32(try arguments.integer("--uid", "uid", in: 1...Int(UInt32.max)) ?? 0)
    play = try arguments.option("--play")
    isLooped = try arguments.flag("--loop")
    save = try arguments.option("--save", wants: "a file name that ends in .wav or .opus") { name in
      let lowered = name.lowercased()
      return lowered.hasSuffix(".wav") || lowered.hasSuffix(".opus") ? name : nil
    }
    usesRelay = try Self.usesRelay(&arguments)
    duration = try arguments.number("--duration", "seconds", in: 0.1...86_400)
    bitrate = try arguments.integer("--bitrate", "bits a second", in: 6000...128_000) ?? 32_000
    // One's token of the rendezvous is another thing than that of the channel.
    channelToken = online.token
    online.token = try arguments.option("--access-token")
    let text = try arguments.positional("name of a channel")
    try arguments.finish()
    try online.requireRendezvous()
    room = try Self.room(text)
    online.transport.maximumCalls = JoinRun.mostLinks
    guard room.needsToken == (channelToken != nil) else {
      throw UsageError(
        room.needsToken
          ? "A channel with a key needs a token." : "A channel without a key takes no token.",
        advice: room.needsToken ? "Add --token FILE." : "Write NAME@k4.public.…")
    }
    guard play != "-" else {
      throw UsageError("join plays no standard input yet.", advice: "Write --play FILE.")
    }
    guard self.role == .host || play == nil else {
      throw UsageError("--role audience plays nothing.", advice: "Leave out --play.")
    }
  }

  private static func usesRelay(_ arguments: inout Arguments) throws(UsageError) -> Bool {
    let isWanted = try arguments.flag("--relay")
    guard try arguments.flag("--mesh"), isWanted else { return isWanted }
    throw UsageError("--mesh and --relay exclude each other.", advice: "Give one of them.")
  }

  private static func room(_ text: String) throws(UsageError) -> ChannelName {
    guard let room = ChannelName(text) else {
      throw UsageError(
        "'\(text)' is not the name of a channel.",
        advice: "It has 1 to 63 of A-Z a-z 0-9 . _ - and perhaps @ and a channel key.")
    }
    return room
  }

  package func run(on loop: EventLoop) async throws(CommandFailure) -> ExitCode {
    let console = Console(
      isJSON: online.isJSON, isQuiet: online.isQuiet, logLevel: online.logLevel)
    var claims = FileClaims()
    online.claim(in: &claims)
    claims.reads(play, "--play")
    claims.writes(save, "--save")
    try claims.check()
    let token: String?
    do throws(EarshotError) {
      token = try channelToken.map { path throws(EarshotError) in try TokenIssuer.token(at: path) }
    } catch {
      throw CommandFailure(error)
    }
    let sound: RoomSound
    do throws(MediaFileError) {
      sound = try RoomSound(self)
    } catch {
      throw CommandFailure(error)
    }
    let session = try await OnlineSession(online, console, on: loop, readsKeys: true)
    _ = try await session.waitUntilRegistered()
    let channel: Channel
    do throws(EarshotError) {
      channel = try await session.endpoint.join(room, as: role, uid: uid, token: token)
    } catch {
      throw await session.conclude(CommandFailure(error))
    }
    let run = JoinRun(self, channel, session, sound)
    while !run.isOver, let input = await session.next() { await run.handle(input) }
    sound.finish()
    session.remember(sound.fault)
    run.writeSummary()
    return await session.finish(page: nil, run.code)
  }
}
