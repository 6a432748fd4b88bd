package import Arguments
internal import Earshot
internal import Primitives
internal import Reactor
package import Tokens

/// `earshot token`: keys that sign access tokens, and tokens, off line.
package struct TokenCommand: Sendable {
  package enum Action: Equatable, Sendable {
    case new(key: String, publicKey: String?)
    /// - Parameter life: Milliseconds from now on.
    case sign(key: String, TokenClaims, life: UInt64)
    /// - Parameter publicKey: The file of the key whose signature is looked for.
    case show(String, publicKey: String?)
  }

  package var action: Action

  package init(_ arguments: consuming Arguments) throws(UsageError) {
    var arguments = arguments
    let key = try arguments.option("--key")
    let publicKey = try arguments.option("--public")
    let wanted = try WantedClaims(&arguments)
    switch arguments.optionalPositional() {
    case "new": action = .new(key: try Self.require(key, "--key FILE"), publicKey: publicKey)
    case "sign":
      let (claims, life) = try wanted.complete()
      action = .sign(key: try Self.require(key, "--key FILE"), claims, life: life)
    case "show":
      action = .show(try arguments.positional("token's file, or -"), publicKey: publicKey)
    case let word: throw Self.unknown(word)
    }
    try arguments.finish()
    if case .new(let path, .some(let publicPath)) = action, path == publicPath {
      throw UsageError("--key and --public name the same file.")
    }
    if case .sign = action { return }
    if let option = wanted.given { throw UsageError("\(option) belongs to sign.") }
  }

  fileprivate static func require<Value>(
    _ value: Value?, _ option: String
  ) throws(UsageError) -> Value {
    guard let value else {
      throw UsageError("\(option) is missing.", advice: "earshot token --help has examples.")
    }
    return value
  }

  private static func unknown(_ word: String?) -> UsageError {
    guard let word else {
      return UsageError(
        "It is not said what to do with tokens.", advice: "Write: earshot token new, sign or show.")
    }
    let near = Arguments.suggestion(word, ["new", "sign", "show"])
    return UsageError(
      "'\(word)' is nothing to do with tokens.",
      advice: near.isEmpty ? "There are new, sign and show." : near)
  }

  package func run() throws(CommandFailure) -> ExitCode {
    let (text, code) = try text(wallMilliseconds: SystemClock.wallNanoseconds / 1_000_000)
    print(Printable.lines(text))
    return code
  }

  /// Does it; what is to be printed, and the exit code.
  ///
  /// - Parameter input: What `-` stands for.
  package func text(
    wallMilliseconds now: UInt64, input: String = "/dev/stdin"
  ) throws(CommandFailure) -> (String, ExitCode) {
    // Standard input may be a pipe, which a file of ours is not.
    var piped: String?
    if case .show("-", _) = action { piped = try Self.firstWord(of: input) }
    do throws(EarshotError) {
      switch action {
      case .new(let path, let publicPath):
        return (try TokenIssuer.makeKey(at: path, publicAt: publicPath).text, .done)
      case .sign(let path, var claims, let life):
        claims.issuedAt = now
        claims.notBefore = now
        claims.expires = now + life
        return (try Self.signed(claims, keyFile: path), .done)
      case .show(let path, let publicPath):
        let key = try publicPath.map { path throws(EarshotError) in
          try TokenIssuer.publicKey(at: path)
        }
        if let piped { return show(piped, key, now: now) }
        return show(try TokenIssuer.token(at: path), key, now: now)
      }
    } catch {
      throw CommandFailure(error)
    }
  }

  /// What stands in a file or pipe up to the first space.
  private static func firstWord(of input: String) throws(CommandFailure) -> String {
    do throws(ReactorError) {
      let bytes = try ProcessSurroundings.contents(of: input, limit: maximumInputByteCount)
      let text = String(decoding: bytes, as: UTF8.self)
      return String(text.drop(while: \.isWhitespace).prefix { !$0.isWhitespace })
    } catch {
      throw CommandFailure(file: error)
    }
  }

  /// A signed token, if a rendezvous takes one of that length. It names its channel where there is
  /// room.
  private static func signed(
    _ claims: TokenClaims, keyFile path: String
  ) throws(EarshotError) -> String {
    var token = try TokenIssuer.sign(claims, keyFile: path)
    if claims.channel != nil, token.utf8.count > TokenLimits.textByteCount {
      var claims = claims
      claims.channel = nil
      token = try TokenIssuer.sign(claims, keyFile: path)
    }
    let (count, most) = (token.utf8.count, TokenLimits.textByteCount)
    guard count <= most else {
      throw EarshotError(
        .invalidArgument, "The token has \(count) bytes; a rendezvous takes at most \(most).",
        advice: "Permit less with --scope.")
    }
    return token
  }

  /// No token is longer, whatever space stands before it.
  private static let maximumInputByteCount = 1024

  // MARK: - Words

  private func show(
    _ text: String, _ key: TokenPublicKey?, now: UInt64
  ) -> (String, ExitCode) {
    // Each has one error, which the sentence is for.
    guard let token = try? PublicToken(parsing: text) else {
      return ("This is no access token: it cannot be read.", .identity)
    }
    guard let claims = try? TokenClaims(json: token.payload) else {
      return ("This is no access token: it is PASETO v4.public with other claims.", .identity)
    }
    let isSigned = key.map { token.isSigned(by: $0) }
    let place = TokenPlace(claims, isSigned == true ? key : nil)
    var lines = [
      ("for", claims.audience), ("holder", "\(claims.subject)"), ("permits", claims.scope),
    ]
    lines.insert(contentsOf: place.lines, at: 0)
    if let name = claims.name { lines.append(("name", name)) }
    if let uid = claims.uid { lines.append(("uid", "\(uid)")) }
    if let issued = claims.issuedAt {
      lines.append(("signed", TokenTime.text(milliseconds: issued)))
    }
    if let begin = claims.notBefore, begin > now {
      lines.append(("begins", TokenTime.text(milliseconds: begin)))
    }
    // As the rendezvous has it.
    let isEarly = claims.notBefore.map { $0 > now + TokenLimits.tolerance } ?? false
    let isOver = claims.expires <= now
    lines.append(
      (isOver ? "expired" : "expires", TokenTime.text(milliseconds: claims.expires)))
    lines.append(("signature", Self.words(isSigned, key)))
    let width = 11
    // What somebody wrote into a token must not look like another line of this one.
    let page = lines.map { name, value in
      name + String(repeating: " ", count: width - name.count) + Printable.only(value)
    }
    let isGood = !isOver && !isEarly && isSigned != false && !place.isFalse
    return (page.joined(separator: "\n"), isGood ? .done : .identity)
  }

  private static func words(_ isSigned: Bool?, _ key: TokenPublicKey?) -> String {
    switch isSigned {
    case nil: "not checked; give the public key with --public FILE"
    case true?: "right, by \(key?.id ?? "")"
    case false?: "wrong: another key signed it, or it was changed"
    }
  }
}

/// The options of `earshot token sign`.
private struct WantedClaims {
  private var subject: PeerID?
  private var audience: PeerID?
  private var life: UInt64?
  private var name: String?
  private var scope: String?
  private var channel: ChannelName?
  private var uid: UInt32?

  init(_ arguments: inout Arguments) throws(UsageError) {
    subject = try arguments.option("--sub", wants: "an ID of 52 letters") { PeerID($0) }
    audience = try arguments.option("--aud", wants: "the ID of a rendezvous, 52 letters") {
      PeerID($0)
    }
    life = try arguments.option("--expires", wants: "a time like 90s, 30m, 12h or 7d, up to 366d") {
      Self.milliseconds(of: $0)
    }
    name = try arguments.option("--name", wants: "a name of 1 to 63 of A-Z a-z 0-9 . _ -") {
      OnlineOptions.isName($0) ? $0 : nil
    }
    channel = try arguments.option("--channel", wants: "a channel with a key, NAME@k4.public.…") {
      ChannelName($0).flatMap { $0.needsToken ? $0 : nil }
    }
    uid = try arguments.integer("--uid", "uid", in: 1...Int(UInt32.max)).map { UInt32($0) }
    let isForChannel = channel != nil
    scope = try arguments.option(
      "--scope",
      wants: "words of a-z 0-9 . : _ - with spaces between, and among them "
        + (isForChannel ? "host or audience" : "register")
    ) { Self.isScope($0, isForChannel) ? $0 : nil }
  }

  /// One that was given.
  var given: String? {
    if subject != nil { return "--sub" }
    if audience != nil { return "--aud" }
    if life != nil { return "--expires" }
    if name != nil { return "--name" }
    if channel != nil { return "--channel" }
    if uid != nil { return "--uid" }
    return scope == nil ? nil : "--scope"
  }

  func complete() throws(UsageError) -> (TokenClaims, life: UInt64) {
    let subject = try TokenCommand.require(subject, "--sub ID")
    let life = try TokenCommand.require(life, "--expires TIME")
    if let channel {
      guard audience == nil, name == nil else {
        throw UsageError("A token is for a channel or for a rendezvous, not for both.")
      }
      var claims = TokenClaims(
        audience: channel.audience, subject: subject, scope: scope ?? "host audience", expires: 0,
        uid: uid)
      claims.channel = channel.shortText
      return (claims, life)
    }
    guard uid == nil else { throw UsageError("--uid needs --channel.") }
    let audience = try TokenCommand.require(audience, "--aud RENDEZVOUS-ID")
    let claims = TokenClaims(
      audience: "\(audience)", subject: subject, scope: scope ?? TokenClaims.register, expires: 0,
      name: name)
    return (claims, life)
  }

  /// From a second to a year.
  private static func milliseconds(of text: String) -> UInt64? {
    let units: [Character: UInt64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
    guard let unit = text.last.flatMap({ units[$0] }),
      text.dropLast().utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let count = UInt64(text.dropLast()), (1...31_622_400).contains(count)
    else { return nil }
    let seconds = count * unit
    return seconds <= 366 * 86_400 ? seconds * 1000 : nil
  }

  /// Whether a rendezvous may accept a token that permits this: without "register" none does, and
  /// to a channel without a role none.
  private static func isScope(_ text: String, _ isForChannel: Bool) -> Bool {
    let letters = Array("abcdefghijklmnopqrstuvwxyz0123456789.:_- ".utf8)
    return text.utf8.allSatisfy { letters.contains($0) }
      && text.split(separator: " ").contains { word in
        isForChannel
          ? ChannelRole.allCases.contains { $0.rawValue == word } : word == TokenClaims.register
      }
  }
}

/// What `earshot token show` says of the channel that a token is for, and of the role there.
private struct TokenPlace {
  /// A title, and what it says; empty where the token is for a rendezvous.
  private(set) var lines: [(String, String)] = []
  /// The channel has another name or key than the token says.
  private(set) var isFalse = false

  /// - Parameter key: That has signed the token; `nil` where that is not known.
  init(_ claims: TokenClaims, _ key: TokenPublicKey?) {
    let roles = ChannelRole.allCases.map(\.rawValue).filter { claims.permits($0) }
    // A grant for a relay has both: the rendezvous signs it.
    guard !roles.isEmpty, !claims.permits(TokenClaims.register) else { return }
    lines.append(("channel", channel(of: claims, key)))
    lines.append(("role", roles.joined(separator: " or ")))
  }

  /// The audience is made of the channel's name and of the key that signs its tokens.
  private mutating func channel(of claims: TokenClaims, _ key: TokenPublicKey?) -> String {
    guard let name = claims.channel, ChannelName(name)?.needsToken == false else {
      return "the token does not say its name"
    }
    guard let key else {
      return "\(name), as the token says; --public FILE checks it"
    }
    guard ChannelName("\(name)@\(key.text)")?.audience == claims.audience else {
      isFalse = true
      return "\(name), as the token says, and that is wrong: it is for another channel"
    }
    return name
  }
}
