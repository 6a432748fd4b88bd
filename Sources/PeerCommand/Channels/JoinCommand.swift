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
  /// Nothing of the own sound goes out before the key m.
  package var startsMuted: Bool
  package var save: String?
  /// Seconds in the channel; `nil` until the user leaves.
  package var duration: Double?
  /// Whether audio goes from host to host, or by a relay, sealed.
  package var way: ChannelMedia.Way
  /// A file for each member that is heard, with `{uid}` in its name.
  package var saveEach: String?
  /// Pictures of the calls of a mesh; the name for what is seen has `{uid}` in it.
  package var video: VideoOptions
  /// Further channels, and the roles there.
  package var also: [Further]

  package struct Further: Sendable {
    package var room: ChannelName
    package var role: ChannelRole
    /// The file of its token, if it has a key.
    package var token: String?
  }

  package var bitrate: Int
  /// How many of the loudest hosts a relay passes on; `nil` = as many as it thinks good.
  package var loudest: Int?
  /// The file of the channel's token.
  package var channelToken: String?
  /// Each line of standard input is a message to all.
  package var readsText: Bool

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
    startsMuted = try arguments.flag("--mute")
    save = try arguments.option("--save", wants: "a file name that ends in .wav or .opus") {
      Self.isSound($0) ? $0 : nil
    }
    saveEach = try arguments.option(
      "--save-each", wants: "a file name with {uid} that ends in .wav or .opus"
    ) { Self.isSound($0) && $0.contains("{uid}") ? $0 : nil }
    way = try Self.way(&arguments, &online)
    video = try VideoOptions(&arguments, usual: 2_500_000)
    also = try Self.further(&arguments)
    duration = try arguments.number("--duration", "seconds", in: 0.1...86_400)
    let text = try arguments.option("--text", wants: "-, for standard input") {
      $0 == "-" ? $0 : nil
    }
    readsText = text != nil
    bitrate = try arguments.integer("--bitrate", "bits a second", in: 6000...128_000) ?? 32_000
    loudest = try arguments.integer("--loudest", "hosts", in: 1...64)
    // One's token of the rendezvous is another thing than that of the channel.
    channelToken = online.token
    online.token = try arguments.option("--access-token")
    let name = try arguments.positional("name of a channel")
    try arguments.finish()
    try online.requireRendezvous()
    room = try Self.room(name)
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
    guard loudest == nil || way != .mesh else {
      throw UsageError(
        "--loudest is about what a relay passes on, and --mesh has none.",
        advice: "Leave out one of them.")
    }
    guard !readsText || ([role] + also.map(\.role)).contains(.host) else {
      throw UsageError("--text - is for a host.", advice: "Leave it out, or be a host.")
    }
  }

  private func checkVideo() throws(UsageError) {
    if let save = video.save, !save.contains("{uid}") {
      throw UsageError(
        "--save-video saves each member by itself.", advice: "Write --save-video '{uid}.ivf'.")
    }
    let isHeard = ([role] + also.map(\.role)).contains(.host)
    if video.picture == .file("-") || (video.picture != nil && !isHeard) {
      throw UsageError(
        "--video sends a file or the test picture, of a host.",
        advice: "Leave it out, or write --video FILE.y4m.")
    }
  }

  private static func way(
    _ arguments: inout Arguments, _ online: inout OnlineOptions
  ) throws(UsageError) -> ChannelMedia.Way {
    let ways: [(name: String, choice: ChannelMedia.Way)] = [
      ("--mesh", .mesh), ("--relay", .relay), ("--relay-only", .relayOnly),
    ]
    var given: [(name: String, choice: ChannelMedia.Way)] = []
    for way in ways where try arguments.flag(way.name) { given.append(way) }
    guard given.count <= 1 else {
      throw UsageError(
        "\(given[0].name) and \(given[1].name) exclude each other.", advice: "Give one of them.")
    }
    let way = given.first?.choice ?? .auto
    guard way == .relayOnly else { return way }
    guard online.paths != "early" else {
      throw UsageError(
        "--relay-only tells members no addresses, and --paths early does.",
        advice: "Leave out one of them.")
    }
    // A member that rings, and is not answered, learns nothing either.
    online.paths = "on-accept"
    return way
  }

  /// `ROOM`, `ROOM:ROLE` or `ROOM:ROLE:FILE`; without a role the audience, because only one channel
  /// is published to. FILE has the token of a channel with a key.
  private static func further(_ arguments: inout Arguments) throws(UsageError) -> [Further] {
    var found: [Further] = []
    for text in try arguments.options("--also") {
      let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      let role = parts.count > 1 ? ChannelRole(rawValue: String(parts[1])) : .audience
      guard let role else {
        throw UsageError(
          "'\(text)' is no channel with a role.",
          advice: "The role is host or audience: write --also ROOM or --also ROOM:host.")
      }
      let file = parts.count > 2 ? String(parts[2]) : nil
      found.append(Further(room: try Self.room(String(parts[0])), role: role, token: file))
    }
    return found
  }

  private func checkRooms() throws(UsageError) {
    let names = [room] + also.map(\.room)
    guard Set(names).count == names.count else {
      throw UsageError("A channel is named twice.", advice: "Name each of them once.")
    }
    for entry in also where entry.room.needsToken != (entry.token.map { !$0.isEmpty } ?? false) {
      let name = entry.room.shortText
      throw UsageError(
        entry.room.needsToken
          ? "\(name) has a key, and --also names no token for it."
          : "\(name) has no key, and takes no token.",
        advice: entry.room.needsToken
          ? "Write --also NAME@k4.public.…:audience:FILE." : "Write --also \(name).")
    }
    try checkFiles()
    guard ([role] + also.map(\.role)).count(where: { $0 == .host }) <= 1 else {
      throw UsageError(
        "Only one channel can be published to.",
        advice: "Add --role audience, or leave out :host behind --also.")
    }
  }

  /// Members of two channels may have one uid: their files are told apart by `{room}`.
  private func checkFiles() throws(UsageError) {
    guard !also.isEmpty else { return }
    let names = [room.shortText] + also.map(\.room.shortText)
    for (option, pattern) in [("--save-each", saveEach), ("--save-video", video.save)] {
      guard let pattern else { continue }
      guard pattern.contains("{room}") else {
        throw UsageError(
          "With --also, members of two channels would write to one file of \(option).",
          advice: "Put {room} into its name as well.")
      }
      guard Set(names).count == names.count else {
        throw UsageError(
          "Two of the channels have one name before the @, which is {room} in \(option).",
          advice: "Leave out \(option), or join them by two programs.")
      }
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
    claims.reads(channelToken, "--token")
    for entry in also { claims.reads(entry.token, "--also") }
    claims.writes(save, "--save")
    claims.writes(saveEach, "--save-each")
    if case .file(let path)? = video.picture { claims.reads(path, "--video") }
    claims.writes(video.save, "--save-video")
    try claims.check()
    let texts = try tokenTexts()
    let sound: RoomSound
    do throws(MediaFileError) {
      sound = try RoomSound(self)
    } catch {
      throw CommandFailure(error)
    }
    let session = try await OnlineSession(online, console, on: loop, readsKeys: !readsText)
    session.announceScheduling()
    _ = try await session.waitUntilRegistered()
    let tokens = RoomTokens(session)
    let run = JoinRun(self, try await joinAll(session, sound, texts, tokens), tokens, session)
    if readsText { session.remember(readLines(run)) }
    let isTold = await follow(run, sound, session)
    await run.finishSound()
    sound.finish()
    if !isTold { session.remember(sound.fault) }
    await session.inbox.settle()
    await run.writeSummary()
    return await session.finish(page: run.page, run.code)
  }

  /// Until it is over.
  ///
  /// - Returns: Whether it has been said that the sound cannot be played or saved any more.
  private func follow(_ run: JoinRun, _ sound: RoomSound, _ session: OnlineSession) async -> Bool {
    var fault: String?
    while !run.isOver, let input = await session.next() {
      await run.handle(input)
      guard fault == nil else { continue }
      fault = sound.fault
      session.remember(fault)
    }
    return fault != nil
  }

  private var rooms: [Further] { [Further(room: room, role: role, token: channelToken)] + also }

  private func readLines(_ run: JoinRun) -> CommandFailure? {
    do throws(ReactorError) {
      try run.messages.readLines()
      return nil
    } catch {
      return CommandFailure(system: error)
    }
  }

  /// The tokens, by their channels.
  private func tokenTexts() throws(CommandFailure) -> [ChannelName: (path: String, text: String)] {
    var texts: [ChannelName: (path: String, text: String)] = [:]
    do throws(EarshotError) {
      for entry in rooms {
        guard let path = entry.token else { continue }
        texts[entry.room] = (path, try TokenIssuer.token(at: path))
      }
    } catch {
      throw CommandFailure(error)
    }
    return texts
  }

  private func joinAll(
    _ session: OnlineSession, _ sound: RoomSound,
    _ texts: [ChannelName: (path: String, text: String)], _ tokens: RoomTokens
  ) async throws(CommandFailure) -> [RoomStay] {
    var stays: [RoomStay] = []
    do throws(EarshotError) {
      for (index, entry) in rooms.enumerated() {
        let shown = texts[entry.room]
        let (feed, name) = (session.inbox.feed, entry.room)
        let options = sound.options(for: self, in: name) { feed.yield(.media(name, $0)) }
        let media = try await session.endpoint.join(
          name, as: entry.role, uid: index == 0 ? uid : 0, token: shown?.text, steering: options)
        if let shown { tokens.add(media.channel, path: shown.path, text: shown.text) }
        stays.append(RoomStay(media, as: entry.role, self, session, sound))
      }
    } catch {
      throw await session.conclude(CommandFailure(error))
    }
    return stays
  }
}
