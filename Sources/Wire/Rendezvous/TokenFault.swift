/// Why a token is not accepted. The numbers travel (docs/protocol/rendezvous.md §5).
package enum TokenFault: UInt8, Error, CaseIterable, Sendable {
  /// Not a token, or its claims cannot be read.
  case malformed = 1
  /// Another key signed it, or it was changed.
  case signature = 2
  /// It is for another rendezvous.
  case audience = 3
  /// It is somebody else's.
  case subject = 4
  /// It does not permit what is asked for.
  case scope = 5
  /// Its time has not begun.
  case notYetValid = 6
  /// Its time is over.
  case expired = 7
}
