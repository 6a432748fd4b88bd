package import Primitives
package import Wire

/// What the owner of the calls must do, in this order.
package enum CallAction: Hashable, Sendable {
  /// Make the bytes and send them. The bytes of INVITE, ACCEPT and REJECT are made once a call.
  case send(CallSignal, CallID, to: PeerID, SignalRoute)
  /// The same, by the rendezvous and to one program of the callee: not the one that the call is
  /// with, or there is none yet.
  case sendTo(PresenceID, CallSignal, CallID, of: PeerID)
  /// Begin path checks under the ring keys.
  case findPath(CallID)
  /// Callee: compute Noise message 2. Caller: it was opened; the session stands.
  case openSession(CallID)
  /// Media may be sent from now on, to a valid address.
  case startMedia(CallID)
  case stopMedia(CallID)
  /// Close the session; keep what signals are authenticated with.
  case close(CallID)
  /// Erase everything about the call.
  case erase(CallID)
  case notify(CallEvent)
}

/// What happened, for the user; each at most once.
package enum CallEvent: Hashable, Sendable {
  /// It rings here.
  case incoming(CallID, from: PeerID)
  /// The callee's device has opened the invitation.
  case delivered(CallID)
  case stateChanged(CallID, CallState, CallCause)
  /// Both called each other: the call goes on under the other's ID, and was accepted by itself.
  case replaced(CallID, by: CallID)
  /// Nothing was heard for 4 s.
  case interrupted(CallID)
  /// Nothing was heard for 10 s; tries go on.
  case connectionLost(CallID)
  /// Nothing was heard for 20 s, where the call would end; it waits for so long after the last
  /// sign of the other side.
  case away(CallID, until: Duration)
  /// The other side is heard again after so long without a sign of it; `resumed` came before.
  case rejoined(CallID, after: Duration)
  case resumed(CallID)
  case remoteMediaChanged(CallID, MediaState)
  case ended(CallSummary)
  /// An invitation was refused without ringing.
  case refused(CallID, from: PeerID, CallReason)
}

/// A call that is over.
package struct CallSummary: Hashable, Sendable {
  package var callID: CallID
  package var peer: PeerID
  package var role: CallRole
  package var outcome: CallOutcome
  package var cause: CallCause
  package var text: ReasonText
  package var timeline: CallTimeline
  /// From connected until the end, in ms; 0 if it never was connected.
  package var durationMilliseconds: Int64
}

/// Why a command was refused; nothing has changed.
package enum CallRefusal: Error, Hashable, Sendable {
  /// There is a call already: with this peer, or as many as the policy allows.
  case busy
  /// One cannot call oneself.
  case ownID
  /// The call ID was used before.
  case callIDInUse
  /// No such call, or it is over.
  case unknownCall
  /// Not in this state of the call: it was answered, or it is not the caller's to do.
  case wrongState
}

/// Why a signal changed nothing.
package enum IgnoredSignal: Int, CaseIterable, Sendable {
  case malformed, forged, unknownCall, wrongPeer, withoutEffect
  case tooOld, tooFarAhead, beforeStart, seenBefore, rateLimited, tooMany, glare, ownID
  /// The caller's device key was given up: a newer card is known.
  case superseded
}

/// How many signals changed nothing, by reason.
package struct IgnoredSignals: Hashable, Sendable {
  private var counts = [UInt64](repeating: 0, count: IgnoredSignal.allCases.count)

  package init() {}

  package subscript(reason: IgnoredSignal) -> UInt64 { counts[reason.rawValue] }

  package mutating func count(_ reason: IgnoredSignal) { counts[reason.rawValue] &+= 1 }
}
