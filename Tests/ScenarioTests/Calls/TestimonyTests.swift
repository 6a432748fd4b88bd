import Calling
import Primitives
import Simulation
import Testing
import Wire

/// The judge is judged first: each contradictory story is found out, and an honest one is not.
@Suite struct TestimonyTests {
  private let call: CallID = {
    var random = RandomSource(seed: 1)
    return CallID(from: &random)
  }()
  private let alice = SimulatedNetwork.HostID(index: 1)
  private let bob = SimulatedNetwork.HostID(index: 2)

  private func at(_ milliseconds: Int) -> Instant { .zero + .milliseconds(milliseconds) }

  private func verdict(
    isDisturbed: Bool = false, _ story: (inout Testimony) -> Void
  ) -> [String] {
    var testimony = Testimony()
    story(&testimony)
    return testimony.verdict(raceWindow: .seconds(2)) { _, _ in isDisturbed }
  }

  private func ring(_ testimony: inout Testimony) {
    testimony.begin(call, at: alice, isCaller: true, now: at(0))
    testimony.begin(call, at: bob, isCaller: false, now: at(50))
  }

  private func talk(_ testimony: inout Testimony) {
    ring(&testimony)
    for (host, start) in [(bob, 1_000), (alice, 1_050)] {
      for (offset, step) in [Testimony.Step.accepted, .firstFrameReceived, .connected].enumerated()
      {
        testimony.note(step, call, at: host, now: at(start + 100 * offset))
      }
    }
  }

  private func end(
    _ testimony: inout Testimony, _ caller: CallOutcome, _ callee: CallOutcome,
    bothActed: Bool = false, apart: Int = 50
  ) {
    testimony.end(call, at: alice, caller, isLocal: true, now: at(5_000))
    testimony.end(call, at: bob, callee, isLocal: bothActed, now: at(5_000 + apart))
  }

  @Test func `finds nothing wrong with an honest call`() {
    #expect(
      verdict {
        talk(&$0)
        end(&$0, .completed, .completed)
      } == [])
    #expect(
      verdict {
        ring(&$0)
        end(&$0, .timeout, .timeout)
      } == [])
  }

  @Test func `finds a side that never ends`() {
    let found = verdict {
      talk(&$0)
      $0.end(call, at: alice, .completed, isLocal: true, now: at(5_000))
    }
    #expect(found.count == 1 && found[0].contains("stuck after connected"))
  }

  @Test func `finds two stories of one call, unless a fault or a race explains them`() {
    func tell(_ testimony: inout Testimony, bothActed: Bool, apart: Int) {
      ring(&testimony)
      end(&testimony, .cancelled, .rejected, bothActed: bothActed, apart: apart)
    }
    #expect(verdict { tell(&$0, bothActed: false, apart: 50) }.count == 1)
    #expect(verdict { tell(&$0, bothActed: true, apart: 50) } == [])
    #expect(verdict { tell(&$0, bothActed: true, apart: 2_500) }.count == 1)
    #expect(verdict(isDisturbed: true) { tell(&$0, bothActed: false, apart: 50) } == [])
  }

  @Test func `no fault explains being connected with somebody who did not accept`() {
    let found = verdict(isDisturbed: true) {
      ring(&$0)
      for step in [Testimony.Step.accepted, .firstFrameReceived, .connected] {
        $0.note(step, call, at: alice, now: at(1_000))
      }
      end(&$0, .completed, .rejected)
    }
    #expect(found.count == 2)
  }

  @Test func `finds steps told twice, out of order, after the end, or of no call`() {
    let found = verdict {
      ring(&$0)
      $0.begin(call, at: bob, isCaller: false, now: at(60))
      $0.note(.delivered, call, at: alice, now: at(100))
      $0.note(.delivered, call, at: alice, now: at(200))
      $0.note(.pathReady, call, at: alice, now: at(150))
      end(&$0, .timeout, .timeout)
      $0.note(.accepted, call, at: bob, now: at(9_000))
      $0.note(.accepted, call, at: SimulatedNetwork.HostID(index: 7), now: at(9_000))
    }
    #expect(found.filter { $0.contains("twice") }.count == 2)
    #expect(found.filter { $0.contains("pathReady before delivered") }.count == 1)
    #expect(found.filter { $0.contains("after the end") }.count == 1)
    #expect(found.filter { $0.contains("does not have") }.count == 1)
  }

  @Test func `finds media before accept, and connected without having heard anything`() {
    let found = verdict {
      ring(&$0)
      $0.noteEarlyFrame(call, at: bob)
      $0.note(.accepted, call, at: bob, now: at(1_000))
      $0.note(.accepted, call, at: alice, now: at(1_050))
      $0.note(.connected, call, at: bob, now: at(1_100))
      end(&$0, .completed, .completed)
    }
    #expect(found.count == 2)
  }

  @Test func `asks nothing of a process that died`() {
    #expect(
      verdict(isDisturbed: true) {
        talk(&$0)
        $0.crash(bob)
        $0.end(call, at: alice, .lost, isLocal: true, now: at(25_000))
      } == [])
  }

  @Test func `lets a program that died take a call by glare that had rung before`() {
    var random = RandomSource(seed: 2)
    let other = CallID(from: &random)
    let found = verdict(isDisturbed: true) {
      ring(&$0)
      $0.crash(bob)
      $0.begin(other, at: bob, isCaller: true, now: at(800))
      $0.replace(other, by: call, at: bob, now: at(900))
      $0.note(.accepted, call, at: bob, now: at(900))
    }
    #expect(found.filter { $0.contains("after the end") || $0.contains("twice") }.isEmpty)
  }

  @Test func `lets a program that died be rung again, and asks of its new life the same`() {
    #expect(
      verdict(isDisturbed: true) {
        ring(&$0)
        $0.crash(bob)
        $0.begin(call, at: bob, isCaller: false, now: at(900))
        end(&$0, .timeout, .timeout)
      } == [])
    let found = verdict(isDisturbed: true) {
      ring(&$0)
      $0.crash(bob)
      $0.begin(call, at: bob, isCaller: false, now: at(900))
      $0.begin(call, at: bob, isCaller: false, now: at(950))
      end(&$0, .timeout, .timeout)
    }
    #expect(found.filter { $0.contains("twice") }.count == 1)
  }

  @Test func `finds a ringing that nobody placed and an answer that nobody gave`() {
    #expect(
      verdict {
        $0.begin(call, at: bob, isCaller: false, now: at(0))
        $0.end(call, at: bob, .timeout, isLocal: true, now: at(15_000))
      }.count == 1)
    #expect(
      verdict {
        $0.begin(call, at: alice, isCaller: true, now: at(0))
        $0.note(.accepted, call, at: alice, now: at(100))
        $0.end(call, at: alice, .completed, isLocal: true, now: at(5_000))
      }.count == 2)
  }
}
