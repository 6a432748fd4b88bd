package import Arguments
package import Earshot
internal import MediaFiles
package import Reactor

/// `earshot join ROOM`: joins a channel, talks with all who are there, until it is told to leave.
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
  /// Whether audio goes from host to host, or by a relay, sealed.
  package var way: RoomWay.Choice
  /// A file for each member that is heard, with `{uid}` in its name.
  package var saveEach: String?
  /// Pictures of the calls of a mesh; the name for what is seen has `{uid}` in it.
  package var video: VideoOptions
  /// Further channels, and the roles there.
  package var also: [Further]

  package struct Further: Sendable {
    package var room: ChannelName
    package var role: ChannelRole
  }

  package var bitrate: Int
  /// The file of the channel's token.
  package var channelToken: String?

  package init(
    _ arguments: consuming Arguments, variable: (String) -> String?
  ) throws(UsageError) {
    var arguments = arguments
    online = try OnlineOptions(&arguments, variable: variable)
    let role = try arguments.choice("--role", of: ChannelRole.allCases.map(\.rawValue))
    self.role = role.flatMap(ChannelRole.init) ?? .host
    uid = UInt32(try arguments.integer("--uid", "uid", in: 1...Int(UInt32.max)) ?? 0)
    play = try arguments.file("--play")
    isLooped = try arguments.flag("--loop")
    save = try arguments.option("--save", wants: "a file name that ends in .wav or .opus") {
      Self.isSound($0) ? $0 : nil
    }
    saveEach = try arguments.option(
      "--save-each", wants: "a file name with {uid} that ends in .wav or .opus"
    ) { Self.isSound($0) && $0.contains("{uid}") ? $0 : nil }
    way = try Self.way(&arguments)
    video = try VideoOptions(&arguments)
    also = try Self.further(&arguments)
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
    try checkSound()
    try checkRooms()
    try checkVideo()
  }

  private static func isSound(_ name: String) -> Bool {
    [".wav", ".opus"].contains { name.lowercased().hasSuffix($0) }
  }

  private func checkSound() throws(UsageError) {
    guard room.needsToken == (channelToken != nil) else {
      throw UsageError(
        room.needsToken
          ? "A channel with a key needs a token." : "A channel without a key takes no token.",
        advice: room.needsToken ? "Add --token FILE." : "Write NAME@k4.public.…")
    }
    guard play != "-" else {
      throw UsageError("join plays no standard input yet.", advice: "Write --play FILE.")
    }
    guard role == .host || play == nil else {
      throw UsageError("--role audience plays nothing.", advice: "Leave out --play.")
    }
  }

  private func checkVideo() throws(UsageError) {
    if let save = video.save, !save.contains("{uid}") {
      throw UsageError(
        "--save-video saves each member by itself.", advice: "Write --save-video '{uid}.ivf'.")
    }
    if video.picture == .file("-") || (role == .audience && video.picture != nil) {
      throw UsageError(
        "--video sends a file or the test picture, of a host.",
        advice: "Leave it out, or write --video FILE.y4m.")
    }
  }

  private static func way(_ arguments: inout Arguments) throws(UsageError) -> RoomWay.Choice {
    let isRelayed = try arguments.flag("--relay")
    guard try arguments.flag("--mesh") else { return isRelayed ? .relay : .auto }
    guard isRelayed else { return .mesh }
    throw UsageError("--mesh and --relay exclude each other.", advice: "Give one of them.")
  }

  /// `ROOM` or `ROOM:ROLE`; without one the audience, because only one channel is published to.
  private static func further(_ arguments: inout Arguments) throws(UsageError) -> [Further] {
    var found: [Further] = []
    for text in try arguments.options("--also") {
      let parts = text.split(separator: ":", omittingEmptySubsequences: false)
      let role = parts.count == 2 ? ChannelRole(rawValue: String(parts[1])) : .audience
      guard parts.count <= 2, let role else {
        throw UsageError(
          "'\(text)' is no channel with a role.", advice: "Write --also ROOM or --also ROOM:host.")
      }
      found.append(Further(room: try Self.room(String(parts[0])), role: role))
    }
    return found
  }

  private func checkRooms() throws(UsageError) {
    let names = [room] + also.map(\.room)
    guard Set(names).count == names.count else {
      throw UsageError("A channel is named twice.", advice: "Name each of them once.")
    }
    if let keyed = also.first(where: { $0.room.needsToken })?.room {
      throw UsageError(
        "--also takes no channel with a key: \(keyed.shortText).",
        advice: "Join it by a further earshot join with its own --token.")
    }
    guard ([role] + also.map(\.role)).count(where: { $0 == .host }) <= 1 else {
      throw UsageError(
        "Only one channel can be published to.",
        advice: "Add --role audience, or leave out :host behind --also.")
    }
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
    claims.writes(saveEach, "--save-each")
    if case .file(let path)? = video.picture { claims.reads(path, "--video") }
    claims.writes(video.save, "--save-video")
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
    session.announceScheduling()
    _ = try await session.waitUntilRegistered()
    let run = JoinRun(self, try await joinAll(session, sound, token), session)
    while !run.isOver, let input = await session.next() { await run.handle(input) }
    sound.finish()
    session.remember(sound.fault)
    run.writeSummary()
    return await session.finish(page: run.page, run.code)
  }

  private func joinAll(
    _ session: OnlineSession, _ sound: RoomSound, _ token: String?
  ) async throws(CommandFailure) -> [RoomStay] {
    var stays: [RoomStay] = []
    do throws(EarshotError) {
      for (index, entry) in ([Further(room: room, role: role)] + also).enumerated() {
        let channel = try await session.endpoint.join(
          entry.room, as: entry.role, uid: index == 0 ? uid : 0, token: index == 0 ? token : nil)
        stays.append(RoomStay(channel, as: entry.role, self, session, sound))
      }
    } catch {
      throw await session.conclude(CommandFailure(error))
    }
    return stays
  }
}
