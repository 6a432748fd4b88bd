internal import Calling
internal import Channels
internal import Connectivity
internal import Peer
internal import Primitives
internal import Reactor
internal import Storage
internal import Wire

/// What the machine tells, in the words of the API; and the audio that begins and ends with it.
extension Endpoint {
  func handleEvent(_ event: PeerEvent) {
    switch event {
    case .registration(let step): handleRegistration(step)
    case .rendezvousIdentified(let id, let card):
      if dialled.isGiven { known.verify(id, at: .rendezvous(dialled.text)) }
      _ = known.see(id, at: .rendezvous(dialled.text), card: card)
    case .rendezvousNodes(let list): known.keep(list)
    case .nameReceipt(let message, let service):
      known.keep(KeptReceipt(service: service, name: message.name, receipt: message.receipt))
    case .calling(let event): handleCallEvent(event)
    case .link(let callID, let step): handleStep(step, of: callID)
    case .unresolved(let callID, let failure): endUnresolved(callID, failure)
    case .probe(let progress): handleProgress(progress)
    case .token(.willExpire(let left)): publish(.tokenWillExpire(in: left))
    case .token(.renewed): publish(.tokenRenewed)
    case .token(.refused(let fault)): publish(.tokenRefused(.token(fault)))
    case .relay(let event):
      // A server that is away is told of once, however often it is asked.
      let before = relay
      relay = RelayState(event)
      if let relay, relay != before { publish(.relayChanged(relay)) }
    case .relaysOffered(let offer): keepOffer(offer)
    case .relayStream(let action): performAction(action)
    case .channel(let identity, let event):
      if let step = ChannelStep(event) { publish(.channel(ChannelName(identity), step)) }
    case .memberChecked(let identity, let uid, let fault):
      let step = ChannelStep.memberChecked(uid: uid, isGenuine: fault == nil)
      publish(.channel(ChannelName(identity), step))
    }
  }

  // MARK: - Registration

  private func handleRegistration(_ step: RegistrationStep) {
    let before = registration
    // Of one that had a session the end of the attempt is told, not what that may be.
    if case .doubted = step, before != .connecting { return }
    registration = RegistrationState(step, error: error(for:))
    if case .failed(.noAnswer) = step { lookUpRendezvous() }
    // An outage is told once, and once more why; each attempt of it is not.
    if registration != before || step == .connecting {
      publish(.registrationChanged(registration))
    }
    switch registration {
    case .registered(let seen, let name):
      waiters.unheard = nil
      compareRouter(seenAs: seen)
      waiters.release(.success(name))
    case .failed(let error), .reconnecting(.some(let error)):
      if before == .connecting { noteUnheard(error) }
      waiters.release(.failure(error))
    case .connecting: waiters.unheard = nil
    case .reconnecting(nil): break
    }
  }

  /// What a hint says before the attempt has ended: attempts go on.
  func tellOfTrouble(_ error: EarshotError) {
    noteUnheard(error)
    registration = .reconnecting(error)
    publish(.registrationChanged(registration))
    waiters.release(.failure(error))
  }

  /// Of the first attempt: what is told of an outage is old when somebody waits for its end.
  private func noteUnheard(_ error: EarshotError) {
    if waiters.registration.isEmpty { waiters.unheard = error }
  }

  /// Why there is no session with the rendezvous yet, as far as the attempt under way can tell.
  var presentTrouble: EarshotError? {
    driver.readMachine { $0.registrationTrouble }.map { error(for: $0) }
  }

  private func error(for failure: RegistrationFailure) -> EarshotError {
    let address = driver.readMachine { $0.configuration.rendezvous }
    switch failure {
    case .noAnswer: return .unanswered(address, NetworkState(toward: address))
    case .longPacketsLost: return .longPacketsLost(address)
    case .notUnderstood: return .rendezvousNotUnderstood(address)
    case .identityMismatch(let expected, let found):
      return known.commands.rendezvousChanged(
        dialled.text, isGiven: dialled.isGiven, expected: expected, found: found)
    case .versionMismatch(let lowest, let highest):
      return .versionMismatch("The rendezvous", lowest: lowest, highest: highest)
    case .notAllowed: return .notAllowed(id)
    case .superseded: return .identitySuperseded(id)
    case .withoutAudience: return .presenceTold(address)
    case .full: return .rendezvousFull(address)
    case .wrongClock: return .clockWrong(address)
    case .nodesNotValid(let isOver): return .nodesNotValid(address, isOver: isOver)
    case .nameOnCard: return .nameTaken(ownName ?? "")
    case .tooManyPrograms: return .tooManyPrograms(id)
    case .replaced: return .replacedElsewhere(id)
    case .isRelay: return .relayAsRendezvous(address)
    case .token(let fault): return .token(fault)
    }
  }

  // MARK: - Calls

  private func handleCallEvent(_ event: CallEvent) {
    switch event {
    case .incoming(let callID, _): takeIncoming(callID)
    case .stateChanged(let callID, let state, let cause): handleState(state, cause, of: callID)
    case .replaced(let old, let new): replace(old, by: new)
    case .delivered(let callID), .interrupted(let callID), .connectionLost(let callID),
      .resumed(let callID), .away(let callID, _), .rejoined(let callID, _):
      publish(CallProgress(event).map { [$0] } ?? [], of: callID)
    case .remoteMediaChanged(let callID, let media): handleMediaState(media, of: callID)
    case .ended(let summary): end(summary)
    case .refused(let callID, _, _): calls[callID] = nil
    }
  }

  private func handleState(_ state: Calling.CallState, _ cause: CallCause, of callID: Wire.CallID) {
    // The application has heard of its own invitation when it made it.
    if state == .calling, cause == .localCall { return }
    guard let state = CallState(state) else { return }
    calls[callID]?.told.state = state
    publish(.callStateChanged(CallID(callID), state, CallStateReason(cause)))
  }

  /// Both called each other: what the application asked for holds for the call that stands.
  private func replace(_ old: Wire.CallID, by new: Wire.CallID) {
    guard let ours = calls.removeValue(forKey: old) else { return }
    replacements[old] = new
    if let theirs = calls[new] {
      announce(theirs, new)
      ours.userExtension = theirs.userExtension
      ours.peer = theirs.peer
      ours.card = theirs.card
    }
    calls[new] = ours
    if let peer = ours.peer { learn(peer, card: ours.card, of: new) }
    publish(.callProgress(CallID(old), .replaced(by: CallID(new))))
    tellAnswer(new)
  }

  private func handleStep(_ step: LinkStep, of callID: Wire.CallID) {
    // What comes with each packet comes first: it allocates nothing, not even the ID of the API.
    if case .audioArrived = step { return takeAudio(callID) }
    if case .videoArrived = step { return takeVideo(callID) }
    switch step {
    case .lookingAgain(let failure): publishSearch(callID, failure)
    case .peerFound(let peer, let card): learn(peer, card: card, of: callID)
    case .invitation(let notice): prepare(notice, callID)
    case .answered(let text):
      calls[callID]?.userExtension = text
      tellAnswer(callID)
    case .mediaMayFlow: startAudio(callID)
    case .mediaMustStop: if let record = calls[callID] { stopAudio(record) }
    case .audioArrived, .videoArrived: break
    case .messageReceived(let stream, let bytes, let mediaTime):
      calls[callID]?.deliver(stream, bytes, mediaTime: mediaTime, for: self, callID)
    case .pathReady, .pathChanged, .shortCode, .remoteWants, .messagesMissed, .messageFinished:
      if let progress = CallProgress(step) { publish([progress], of: callID) }
    case .publishFallback, .subscribeFallback, .firstFrameSent, .firstFrameReceived, .said:
      publish(calls[callID]?.handle(step, now: SystemClock.now) ?? [], of: callID)
    }
  }

  func tellAnswer(_ callID: Wire.CallID) {
    guard let peer = calls[callID]?.publicPeer else { return }
    publish(.callProgress(CallID(callID), .answered(peer)))
  }

  func peer(of id: CallID) -> CallPeer? { calls[resolve(id)]?.publicPeer }

  private func learn(_ peer: PeerID, card: [UInt8], of callID: Wire.CallID) {
    guard let record = calls[callID] else { return }
    record.peer = peer
    record.card = card
    record.trust = .verified  // Dialled by ID: whoever answers has that key.
    if let text = record.peerName, let name = PeerName(text) {
      let trust = known.see(peer, at: .name(name))  // Dialled: that pins it.
      let isVerified = known.trust(in: peer, at: .id(peer)) == .verified
      record.trust = isVerified && trust != .changed ? .verified : trust
    } else if record.options.remembersPeer {
      known.see(peer, at: .id(peer))
    }
    known.renew(card)
  }

  private func publishSearch(_ callID: Wire.CallID, _ failure: LookUpFailure) {
    guard let record = calls[callID], !record.isOver else { return }
    let ending = UnresolvedEnding(failure, name: record.calledName, known.commands)
    publish(.callProgress(CallID(callID), .lookingAgain(ending.sentence)))
  }

  private func endUnresolved(_ callID: Wire.CallID, _ failure: LookUpFailure) {
    guard let record = calls.removeValue(forKey: callID), !record.isOver else { return }
    record.isOver = true
    finishMedia(record)
    let ending = UnresolvedEnding(failure, name: record.calledName, known.commands)
    if case .identityChanged(_, let found) = failure {
      record.peer = found
      record.trust = .changed
    }
    publish(.callStateChanged(CallID(callID), .ended, ending.reason))
    publish(
      .callEnded(
        CallID(callID),
        CallReport(
          callID: CallID(callID), outcome: ending.outcome, reason: ending.sentence, role: .caller,
          peer: record.peer, peerName: record.peerName, trust: record.trust, durationMs: 0,
          timeline: CallReport.Timeline(), statistics: nil, userExtension: nil,
          error: ending.error)))
  }

  private func end(_ summary: CallSummary) {
    let callID = summary.callID
    if let record = calls[callID] { announce(record, callID) }
    guard let record = calls.removeValue(forKey: callID), !record.isOver else { return }
    record.isOver = true
    let numbers = statistics(of: callID, record)
    finishMedia(record)
    statisticsSchedule.end(callID)
    var final = numbers
    if let audio = record.audio {
      final?.complete(with: audio.statistics, bitrate: audio.bitrate, now: SystemClock.now)
    }
    final?.completeVideo(record)
    if var graded = final {
      record.grader.adoptEnd(&graded)
      final = graded
    }
    var report = CallReport(summary, record, statistics: final, known.commands)
    report.peerName = record.peerName
    report.timeline.firstVideoFrameDecodedMs = record.told.firstPicture
    report.endingExtension = driver.readMachine { $0.words(of: callID)?.theirEnding }
    if summary.cause == .noPath {
      report.pathAttempt = driver.readMachine { $0.pathTrial(callID) }.map {
        PathAttempt($0, relay: relay)
      }
    }
    publish(record.data.takeAll() + record.streams.end(now: SystemClock.now), of: callID)
    publish(.callStateChanged(CallID(callID), .ended, CallStateReason(summary.cause)))
    publish(.callEnded(CallID(callID), report))
    updateStatisticsTimer()
  }
}
