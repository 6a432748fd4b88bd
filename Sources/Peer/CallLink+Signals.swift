import Calling
import Connectivity
import Primitives
import SecureSession
import Wire

/// What signals of the other side say (docs/protocol/calling.md §2).
extension CallLink {
  /// What an authentic body says, and at the caller which of the callee's programs says it; `nil`
  /// for a body that is not authentic, or for another program.
  ///
  /// - Parameters:
  ///   - bytes: The whole body.
  ///   - presence: The peer's program, as the rendezvous says.
  ///   - isOpen: The call is open by its rules: an answer is taken.
  func read(
    _ body: SignalBody, _ bytes: [UInt8], from presence: PresenceID, isOpen: Bool,
    random: inout RandomSource
  ) -> (signal: CallSignal, program: PresenceID)? {
    let isCaller = role == .caller
    switch body.content {
    case .invite, .candidates: return nil
    case .ringing(let sealed):
      guard isCaller, signalling.isAuthentic(body),
        let program = readRinging(sealed, random: &random)
      else { return nil }
      return (.ringing(isPrepared: sealed.isPrepared), program)
    case .accept(let message), .reject(let message):
      guard isCaller else { return nil }
      return readAnswer(
        message, isAccept: body.type == .accept, body: bytes, accepts: isOpen, random: &random)
    case .cancel(let reason, let program, _): return authentic(.cancel(reason), program, of: body)
    case .timeout(let reason, let program): return authentic(.timeout(reason), program, of: body)
    case .receipt(let type, let program): return authentic(.receipt(of: type), program, of: body)
    case .hangUp(let reason, let text, _): return authentic(.hangUp(reason, text), .every, of: body)
    case .unsupported: return isCaller ? (.unsupported, presence) : nil
    }
  }

  /// A signal that names a program of the callee: at the caller the one that speaks, at the callee
  /// the one that is meant.
  private func authentic(
    _ signal: CallSignal, _ program: PresenceID, of body: SignalBody
  ) -> (signal: CallSignal, program: PresenceID)? {
    let isForOther = role == .callee && program != .every && program != path.programs.own
    guard signalling.isAuthentic(body), !isForOther else { return nil }
    body.handWords(to: self)
    return (signal, role == .caller ? program : .every)
  }

  /// Reads RINGING's details; gives the program that rings, `nil` if they do not open.
  private func readRinging(
    _ sealed: SealedRingDetails, random: inout RandomSource
  ) -> PresenceID? {
    guard let details = signalling.readRinging(sealed) else { return nil }
    path.adopt(details, keys: &signalling.ring, random: &random)
    words.abilities.formUnion(sealed.abilities)
    return details.presence
  }

  /// The caller reads ACCEPT or REJECT of one of the callee's programs; `nil` if it does not open
  /// or is not about this call.
  ///
  /// - Parameter accepts: Whether the answer is taken: the first one, of a call that is open.
  private func readAnswer(
    _ message: [UInt8], isAccept: Bool, body: [UInt8], accepts: Bool, random: inout RandomSource
  ) -> (signal: CallSignal, program: PresenceID)? {
    guard signalling.awaitsAnswer else {
      return isAccept && body == signalling.answerBody ? (.accept, path.programs.remote) : nil
    }
    guard
      let answer = signalling.readAnswer(
        message, isAccept: isAccept, body: body, accepts: accepts)
    else { return nil }
    switch answer.verdict {
    case .accepted:
      if accepts { adopt(answer, random: &random) }
      return (.accept, answer.presence)
    case .rejected(let reason, let text):
      if accepts { words.theirEnding = answer.offer.userExtension }
      return (.reject(reason, text), answer.presence)
    }
  }

  private func adopt(_ answer: AnswerPayload, random: inout RandomSource) {
    path.settleBranches(on: answer.presence, random: &random)
    if !answer.offer.candidates.candidates.isEmpty {
      path.remoteCandidates = answer.offer.candidates.candidates
    }
    words.theirs = answer.offer.userExtension
    words.abilities = answer.offer.abilities
    terms.remote = answer.offer.media
    path.roaming.theirAbsence = answer.offer.rejoinSeconds
  }
}
