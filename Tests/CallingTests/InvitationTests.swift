import Primitives
import Testing
import Wire

@testable import Calling

@Suite struct OutgoingInvitationTests {
  @Test func `repeats INVITE at half, one and a half, three and a half, seven and a half seconds`()
  {
    var invitation = OutgoingInvitation(ringTimeout: .seconds(15), now: start)
    var times: [Int64] = []
    var end: OutgoingInvitation.Action?
    while let deadline = invitation.nextDeadline {
      switch invitation.handleTimeout(now: deadline) {
      case .send(.invite): times.append((deadline - start).milliseconds)
      case let action:
        end = action
        times.append((deadline - start).milliseconds)
      }
    }
    #expect(times == [500, 1500, 3500, 7500, 8000])
    #expect(end == .end(CallEnding(.unreachable, .undelivered, lastWord: .cancel(.noPath))))
  }

  @Test func `says delivered on RINGING only, and once`() {
    var invitation = OutgoingInvitation(ringTimeout: nil, now: start)
    #expect(invitation.handle(.ringing(isPrepared: true)) == .notifyDelivered(isPrepared: true))
    #expect(invitation.handle(.ringing(isPrepared: true)) == nil)
    #expect(invitation.nextDeadline == nil)
  }

  @Test(arguments: [
    (CallReason.busy, CallOutcome.busy, CallCause.remoteBusy),
    (.declined, .rejected, .remoteRejected), (.notAllowed, .rejected, .notAllowed),
  ])
  func `ends as the callee's reason says`(
    reason: CallReason, outcome: CallOutcome, cause: CallCause
  ) {
    var invitation = OutgoingInvitation(ringTimeout: nil, now: start)
    let text = ReasonText(clipping: "later")
    #expect(
      invitation.handle(.reject(reason, text)) == .end(CallEnding(outcome, cause, text: text)))
  }

  @Test func `ends at once when the callee is not online`() {
    var invitation = OutgoingInvitation(ringTimeout: nil, now: start)
    #expect(invitation.handleForwardFailure(.tooMany) == nil)
    #expect(
      invitation.handleForwardFailure(.notOnline) == .end(CallEnding(.unreachable, .notOnline)))
    #expect(invitation.nextDeadline == nil)
  }

  @Test func `heeds the rendezvous no more once it rings`() {
    var invitation = OutgoingInvitation(ringTimeout: nil, now: start)
    _ = invitation.handle(.ringing(isPrepared: false))
    #expect(invitation.handleForwardFailure(.notOnline) == nil)
  }

  @Test func `times out fifteen seconds after INVITE, not a moment sooner`() {
    var invitation = OutgoingInvitation(ringTimeout: .seconds(15), now: start)
    _ = invitation.handle(.ringing(isPrepared: false))
    #expect(invitation.handleTimeout(now: start + .seconds(15) - .nanoseconds(1)) == nil)
    #expect(
      invitation.handleTimeout(now: start + .seconds(15))
        == .end(CallEnding(.timeout, .localRingTimeout, lastWord: .timeout(.noAnswer))))
  }

  /// A telephone that never rang has not gone unanswered.
  @Test func `says unreachable when the ring timeout comes before RINGING`() {
    var invitation = OutgoingInvitation(ringTimeout: .seconds(2), now: start)
    #expect(
      invitation.handleTimeout(now: start + .seconds(2))
        == .end(CallEnding(.unreachable, .undelivered, lastWord: .cancel(.noPath))))
  }

  @Test func `is over once it is over`() {
    var invitation = OutgoingInvitation(ringTimeout: .seconds(2), now: start)
    #expect(invitation.cancel(.userCancelled) != nil)
    #expect(invitation.cancel(.userCancelled) == nil)
    #expect(invitation.handle(.accept) == nil)
    #expect(invitation.handle(.ringing(isPrepared: true)) == nil)
    #expect(invitation.handleTimeout(now: start + .seconds(60)) == nil)
  }

  @Test(arguments: [
    CallSignal.cancel(.userCancelled), .hangUp(.userHungUp, .empty), .confirm, .invite,
    .receipt(of: .cancel), .mediaState([]),
  ])
  func `ignores what only a callee acts on`(signal: CallSignal) {
    var invitation = OutgoingInvitation(ringTimeout: nil, now: start)
    #expect(invitation.handle(signal) == nil)
    #expect(invitation.handle(.accept) == .connect)
  }
}

@Suite struct IncomingInvitationTests {
  @Test func `answers a repeated INVITE with the same RINGING`() {
    for preparation in [CallPolicy.Preparation.onRinging, .onAccept] {
      var policy = CallPolicy.standard
      policy.preparation = preparation
      var invitation = IncomingInvitation(ringTimeout: nil, policy: policy, now: start)
      let expected = CallSignal.ringing(isPrepared: preparation == .onRinging)
      #expect(invitation.ringing == expected)
      #expect(invitation.handle(.invite, now: start) == .send(expected))
    }
  }

  @Test func `accepts once, and not after it was cancelled`() {
    var accepted = IncomingInvitation(ringTimeout: nil, now: start)
    #expect(accepted.accept() == .connect)
    #expect(accepted.accept() == nil)
    var cancelled = IncomingInvitation(ringTimeout: nil, now: start)
    #expect(
      cancelled.handle(.cancel(.userCancelled), now: start)
        == .end(CallEnding(.cancelled, .remoteCancelled)))
    #expect(cancelled.accept() == nil)
    #expect(cancelled.reject(.declined, .empty) == nil)
  }

  @Test func `rings as long as the caller asked, and three minutes at most`() {
    let asked = IncomingInvitation(ringTimeout: .seconds(15), now: start)
    #expect(asked.nextDeadline == start + .seconds(15))
    let endless = IncomingInvitation(ringTimeout: nil, now: start)
    #expect(endless.nextDeadline == start + .seconds(180))
    let absurd = IncomingInvitation(ringTimeout: .seconds(4_000_000), now: start)
    #expect(absurd.nextDeadline == start + .seconds(180))
  }

  @Test(arguments: [
    CallSignal.ringing(isPrepared: true), .accept, .reject(.busy, .empty), .confirm,
    .hangUp(.userHungUp, .empty), .receipt(of: .accept), .unsupported,
  ])
  func `ignores what only a caller acts on`(signal: CallSignal) {
    var invitation = IncomingInvitation(ringTimeout: nil, now: start)
    #expect(invitation.handle(signal, now: start) == nil)
    #expect(invitation.accept() == .connect)
  }
}

@Suite struct OngoingCallTests {
  @Test func `repeats ACCEPT until it is receipted or confirmed`() {
    for receipt in [CallSignal.confirm, .receipt(of: .accept)] {
      var call = OngoingCall(.callee, hasPath: false, now: start)
      #expect(
        call.handleTimeout(now: start + .milliseconds(500)) == .send(.accept, .both))
      #expect(call.isAcceptPending)
      _ = call.handle(receipt)
      #expect(!call.isAcceptPending)
      #expect(call.handleTimeout(now: start + .milliseconds(1500)) == nil)
    }
  }

  @Test func `sends ACCEPT on the path as soon as there is one`() {
    var call = OngoingCall(.callee, hasPath: false, now: start)
    #expect(call.handlePathReady(now: start) == .send(.accept, .path))
    _ = call.handle(.confirm)
    #expect(call.handlePathReady(now: start) == nil)
  }

  /// 20 ms after it went there first, then twice as long, until anything shows that it arrived.
  @Test(arguments: [false, true])
  func `says ACCEPT again on the path until the caller shows the keys`(hadPath: Bool) {
    var call = OngoingCall(.callee, hasPath: hadPath, now: start)
    let ready = start + .milliseconds(hadPath ? 0 : 30)
    if !hadPath { #expect(call.handlePathReady(now: ready) == .send(.accept, .path)) }
    var times: [Int64] = []
    while let deadline = call.nextDeadline, deadline < start + .milliseconds(500) {
      #expect(call.handleTimeout(now: deadline) == .send(.accept, .path))
      times.append((deadline - ready).milliseconds)
    }
    #expect(times == [20, 60, 140, 300])
    call.handleKeysShown()
    #expect(call.canSendMedia && !call.isAcceptPending)
    #expect(call.handleTimeout(now: start + .milliseconds(700)) == nil)
    #expect(call.becomesConnected(now: start + .milliseconds(700)) == false)
  }

  @Test func `lets the callee send media after CONFIRM, or a packet of the session, only`() {
    var callee = OngoingCall(.callee, hasPath: true, now: start)
    #expect(!callee.canSendMedia)
    _ = callee.handle(.receipt(of: .accept))
    #expect(!callee.canSendMedia)
    _ = callee.handle(.confirm)
    #expect(callee.canSendMedia)
    #expect(OngoingCall(.caller, hasPath: true, now: start).canSendMedia)
    var shown = OngoingCall(.callee, hasPath: true, now: start)
    shown.handleKeysShown()
    #expect(shown.canSendMedia)
    // It is connected when the commitment is open as well.
    shown.handleFirstFrame()
    #expect(shown.becomesConnected(now: start) == false)
  }

  @Test func `is connected when it is confirmed and the other side was heard, in either order`() {
    for confirmsFirst in [true, false] {
      var call = OngoingCall(.callee, hasPath: true, now: start)
      if confirmsFirst { _ = call.handle(.confirm) } else { call.handleFirstFrame() }
      #expect(call.becomesConnected(now: start) == false)
      if confirmsFirst { call.handleFirstFrame() } else { _ = call.handle(.confirm) }
      #expect(call.becomesConnected(now: start) == true)
      #expect(call.becomesConnected(now: start) == false)
    }
  }

  @Test func `ends after ten seconds without a path, or without media on it`() {
    for hasPath in [false, true] {
      var call = OngoingCall(.caller, hasPath: hasPath, now: start)
      #expect(call.handleTimeout(now: start + .seconds(10) - .nanoseconds(1)) == nil)
      guard case .end(let ending) = call.handleTimeout(now: start + .seconds(10)) else {
        Issue.record("still there")
        continue
      }
      #expect(ending.cause == (hasPath ? .noMedia : .noPath))
      #expect(ending.outcome == (hasPath ? .failed : .unreachable))
    }
  }

  @Test func `is interrupted at four seconds, resumes, is told at ten, and is lost at twenty`() {
    var call = OngoingCall(.caller, hasPath: true, now: start)
    call.handleFirstFrame()
    #expect(call.becomesConnected(now: start) == true)
    #expect(call.handleTimeout(now: start + .seconds(4) - .nanoseconds(1)) == nil)
    #expect(call.handleTimeout(now: start + .seconds(4)) == .notifyInterrupted)
    #expect(call.handle(.audio, now: start + .seconds(5)) == true)
    #expect(call.handle(.audio, now: start + .seconds(6)) == false)
    #expect(call.handleTimeout(now: start + .seconds(9)) == nil)
    #expect(call.handleTimeout(now: start + .seconds(10)) == .notifyInterrupted)
    #expect(call.handleTimeout(now: start + .seconds(16) - .nanoseconds(1)) == nil)
    #expect(call.handleTimeout(now: start + .seconds(16)) == .notifyConnectionLost)
    #expect(call.handleTimeout(now: start + .seconds(26) - .nanoseconds(1)) == nil)
    #expect(
      call.handleTimeout(now: start + .seconds(26))
        == .end(CallEnding(.lost, .peerLost, lastWord: .hangUp(.noPath, .empty))))
  }

  @Test func `a host that slept for eleven seconds is told of both, in order`() {
    var call = OngoingCall(.caller, hasPath: true, now: start)
    call.handleFirstFrame()
    #expect(call.becomesConnected(now: start) == true)
    let late = start + .seconds(11)
    #expect(call.handleTimeout(now: late) == .notifyInterrupted)
    #expect(call.nextDeadline.map { $0 <= late } == true)
    #expect(call.handleTimeout(now: late) == .notifyConnectionLost)
    #expect(call.handleTimeout(now: late) == nil)
    // Heard again and silent again: told again.
    #expect(call.handle(.audio, now: start + .seconds(12)) == true)
    #expect(call.handleTimeout(now: start + .seconds(16)) == .notifyInterrupted)
    #expect(call.handleTimeout(now: start + .seconds(22)) == .notifyConnectionLost)
  }

  @Test func `is never interrupted while it is heard`() {
    var call = OngoingCall(.caller, hasPath: true, now: start)
    call.handleFirstFrame()
    #expect(call.becomesConnected(now: start) == true)
    var now = start
    for _ in 0..<1000 {
      now = now + .milliseconds(3900)
      #expect(call.handle(.audio, now: now) == false)
      #expect(call.handleTimeout(now: now + .milliseconds(150)) == nil)
    }
  }
}

@Suite struct CallTimelineTests {
  @Test(arguments: 0..<UInt64(200))
  func `never decreases along the causal order, whatever is noted when`(seed: UInt64) {
    var random = RandomSource(seed: seed)
    var timeline = CallTimeline(zero: start)
    var now = start
    for step in CallTimeline.Step.allCases.shuffled(using: &random) where random.next() % 4 > 0 {
      now = now + .milliseconds(Int64(random.next() % 1000))
      timeline.append(step, now: now)
      timeline.append(step, now: now + .seconds(1))
    }
    for step in CallTimeline.Step.allCases {
      guard let time = timeline[step] else { continue }
      for earlier in step.presupposes {
        #expect(timeline[earlier].map { $0 <= time } == true, "\(earlier) before \(step)")
      }
    }
    #expect(timeline[.invited] == 0)
  }
}
