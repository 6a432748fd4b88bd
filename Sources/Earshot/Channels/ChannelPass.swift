internal import Calling
internal import Channels
internal import Peer
public import Primitives
internal import Reactor
internal import Tokens
internal import Wire

/// What lets one identity into a channel with a key: which one it is, and a token of its own.
/// Whoever it is not made for can do nothing with it.
public struct ChannelPass: Hashable, Sendable, CustomStringConvertible {
  /// Which channel.
  public let name: ChannelName
  /// As a rendezvous and the members read it.
  public let token: String

  /// `nil` unless the channel has a key and the token is one by its form; whether it is good there
  /// the rendezvous says.
  public init?(name: ChannelName, token: String) {
    guard name.needsToken, token.utf8.count <= ChannelOffer.longestToken else { return nil }
    do throws(TokenFault) {
      _ = try PublicToken(parsing: token)
    } catch {
      return nil
    }
    self.name = name
    self.token = token
  }

  init?(_ offer: ChannelOffer) {
    guard let room = String(validating: offer.room, as: UTF8.self),
      let token = String(validating: offer.token, as: UTF8.self),
      let name = ChannelName(room)
    else { return nil }
    self.init(name: name, token: token)
  }

  /// Without the token.
  public var description: String { "pass of \(name)" }
}

/// A new channel of somebody who decides alone who may be in it: a name that nobody guesses, and
/// the key that signs the tokens of its members. The key is in memory only: it is gone with this.
public final class ChannelKey: Sendable {
  /// What the channel is called, with the public half of the key.
  public let name: ChannelName
  private let key: TokenSigningKey

  /// Draws both anew.
  public init() {
    var random = RandomSource.system
    key = TokenSigningKey(random: &random)
    let word = CallID(bytes: random.bytes(16)).description
    guard let name = ChannelName("call-\(word)@\(key.publicKey.text)") else {
      preconditionFailure("a name of 41 letters and a key that was made now are a channel's")
    }
    self.name = name
  }

  /// Lets somebody in, as a host or in the audience as it likes.
  ///
  /// - Parameters:
  ///   - manages: Whether it may remove others.
  ///   - life: How long it may stay, at least a second.
  public func pass(
    for member: PeerID, manages: Bool = false, life: Duration = .seconds(86_400)
  ) -> ChannelPass {
    let now = SystemClock.wallNanoseconds / 1_000_000
    let claims = TokenClaims(
      audience: name.audience, subject: member,
      scope: "host audience" + (manages ? " \(ChannelIdentity.manage)" : ""), issuedAt: now,
      expires: now + UInt64(max(1000, life.milliseconds)))
    let token = PublicToken(signing: claims.json, by: key).text
    guard let pass = ChannelPass(name: name, token: token) else {
      preconditionFailure("a token that was signed now is one by its form")
    }
    return pass
  }
}

extension Call {
  /// Asks the other side into a channel, which this call becomes a part of. It is told
  /// (`CallProgress.channelOffered`), and decides.
  ///
  /// - Throws: `callState` unless the call is answered and goes on.
  public func offer(_ pass: ChannelPass) async throws(EarshotError) {
    try await endpoint.traced(#function, id) { endpoint throws(EarshotError) in
      guard [.connecting, .connected].contains(endpoint.state(of: id)),
        let offer = ChannelOffer(
          room: Array(pass.name.description.utf8), token: Array(pass.token.utf8))
      else {
        throw EarshotError(
          .callState, "The call is not answered, or over.", advice: "Offer in a call that goes on.")
      }
      let callID = endpoint.resolve(id)
      endpoint.driver.withMachine { machine, now in
        machine.say(.channel(offer), on: callID, now: now)
      }
    }
  }
}

extension Endpoint {
  /// Joins a channel by a pass; otherwise as `join` by name.
  public func join(
    _ pass: ChannelPass, as role: ChannelRole = .host
  ) throws(EarshotError) -> Channel {
    try join(pass.name, as: role, token: pass.token)
  }

  /// So many calls may go on at once from now on; further ones are told that it is busy.
  ///
  /// - Throws: `invalidArgument` outside 1 to 16.
  public func setMaximumCalls(_ count: Int) throws(EarshotError) {
    guard Configuration.callCounts.contains(count) else {
      throw .invalidArgument("\(count) calls at once are out of range.", advice: "Use 1 to 16.")
    }
    driver.withMachine { machine, _ in
      machine.configuration.policy.mostCalls = count
      machine.ledger.policy.mostCalls = count
    }
  }
}
