internal import Peer
internal import Primitives
internal import Reactor
internal import Tokens
internal import Wire

/// The access token of the registration (docs/operating.md).
extension Endpoint {
  /// Hands over a newer access token. Where the rendezvous wants one it is shown at once, in the
  /// session that stands, and nothing is interrupted: `tokenRenewed` or `tokenRefused` tells.
  /// Attempts that ended for want of one begin again.
  ///
  /// - Throws: When it is no token at all.
  public func renewToken(_ token: String) throws(EarshotError) {
    guard !isClosed else { throw .closed }
    try EarshotError.check(token: token)
    driver.withMachine { machine, now in machine.renewToken(Array(token.utf8), now: now) }
  }
}

extension EarshotError {
  static func check(token: String) throws(EarshotError) {
    do throws(TokenFault) {
      _ = try PublicToken(parsing: token)
    } catch {
      throw .token(error)
    }
  }

  /// - Parameter fault: What the rendezvous says of the token; `nil` = there was none.
  static func token(_ fault: TokenFault?) -> EarshotError {
    guard let fault else {
      return EarshotError(
        .tokenNeeded, "The rendezvous admits only holders of an access token.",
        advice: "Ask its operator for one, and give it with --token FILE (join: --access-token).")
    }
    if fault == .expired {
      return EarshotError(
        .tokenExpired, "The access token has expired.",
        advice: "Put a newer one into the file given with --token; its issuer signs it.")
    }
    let what =
      switch fault {
      case .malformed: "it is none, or its claims cannot be read"
      case .signature: "another key signed it, or it was changed"
      case .audience: "it is for another rendezvous"
      case .subject: "it is another identity's"
      case .scope: "it does not permit to register"
      case .notYetValid: "its time has not begun by the clock of the rendezvous"
      case .expired: "it has expired"
      }
    return EarshotError(
      .tokenRefused, "The rendezvous does not accept the access token: \(what).",
      advice: "earshot token show FILE tells what it says; ask its issuer for another one.")
  }
}
