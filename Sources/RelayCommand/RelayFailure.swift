import Arguments
import Peer
import Primitives
import Reactor

/// Why the relay could not start.
enum RelayFailure: Error {
  case usage(UsageError)
  /// The rendezvous is named, and nobody knows the name.
  case unresolved(ReactorError)
  case reactor(ReactorError, option: String)
}

/// What an operator is told when the rendezvous does not take the relay, and what to do about it.
extension RegistrationFailure {
  func words(rendezvous: String, relay: PeerID) -> String {
    switch self {
    case .noAnswer:
      "nothing answers at \(rendezvous); asking on.\n"
        + "Check --rendezvous, that earshot-rendezvous runs there, and that UDP gets through."
    case .longPacketsLost:
      "\(rendezvous) answers short packets, and long ones are lost on the way; asking on.\n"
        + "Raise the MTU of the path to 1280 bytes or more."
    case .notUnderstood:
      "what answers at \(rendezvous) is not understood; asking on.\n"
        + "Check --rendezvous: another program may have that port."
    case .identityMismatch(let expected, let found):
      "the rendezvous at \(rendezvous) has the ID \(found), not \(expected).\n"
        + "If that is the right one, start with --rendezvous \(rendezvous)#\(found)"
    case .versionMismatch(let lowest, let highest):
      "the rendezvous at \(rendezvous) speaks versions \(lowest) to \(highest) of the protocol, "
        + "and this relay another.\nInstall the same release at both, and start again."
    case .token:
      "the rendezvous at \(rendezvous) wants an access token, and a relay has none.\n"
        + "Start earshot-rendezvous without --require-token."
    case .notAllowed:
      "the rendezvous at \(rendezvous) does not admit this relay.\n"
        + "Write \(relay) into the files of its --allow and --relay-key, and start again."
    case .superseded, .replaced, .tooManyPrograms:
      "the rendezvous at \(rendezvous) knows this relay's identity from elsewhere.\n"
        + "Give each relay a --data directory of its own, and start again."
    case .full:
      "the rendezvous at \(rendezvous) has no room; asking on."
    case .wrongClock, .nodesNotValid:
      "the clocks here and at the rendezvous differ too much; asking on.\n"
        + "Set them: timedatectl set-ntp true"
    case .isRelay:
      "what answers at \(rendezvous) is a relay, not a rendezvous.\n"
        + "Give --rendezvous the address and ID that earshot-rendezvous prints when it starts."
    case .nameOnCard, .withoutAudience:
      "the rendezvous at \(rendezvous) does not take this relay.\n"
        + "Install the same release at both, and start again."
    }
  }
}
