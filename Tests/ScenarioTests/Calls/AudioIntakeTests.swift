import Primitives
import Simulation
import Synchronization
import Testing
import Wire

@testable import Peer

/// Audio that comes is copied once, out of its packet into what the pipeline reads.
@Suite struct AudioIntakeTests {
  private final class Intake: AudioIntake {
    let taken = Mutex<[(kind: AudioKind, count: Int, isMeasured: Bool)]>([])

    func carry(
      _ body: Span<UInt8>, _ audio: ReceivedAudio,
      roundTrip: (smoothed: UInt64, minimum: UInt64)?, allowance: Int?
    ) {
      taken.withLock {
        $0.append((audio.header.kind, body.count, roundTrip != nil && allowance != nil))
      }
    }
  }

  /// Alice speaks, and nobody takes out of Bob's machine what comes.
  private final class Line {
    let pair = TwoPeers()
    let call: CallID
    private(set) var arrivals = 0
    private var mediaTime: UInt16 = 100

    init() throws {
      call = try pair.connect()
      pair.world.mediaInterval = .seconds(3600)
      pair.world.run(.milliseconds(300))
      pair.alice.host.observe = { _, _ in }
      pair.bob.host.observe = { [unowned self] event, _ in
        if case .link(_, .audioArrived) = event { arrivals += 1 }
      }
    }

    /// So many frames of 20 ms, and what is on its way.
    func run(frames: Int) {
      let payload = [UInt8](repeating: 7, count: 80)
      for _ in 0..<frames {
        mediaTime &+= 2
        pair.alice.host.command(now: pair.world.now) { machine, now in
          _ = machine.sendAudio(
            payload.span, mediaTime: mediaTime, length: .milliseconds20, isMarked: false, on: call,
            now: now)
        }
        pair.world.run(.milliseconds(20))
      }
      pair.world.run(.milliseconds(100))
    }

    func setIntake(_ intake: (any AudioIntake)?) {
      pair.bob.host.command(now: pair.world.now) { machine, _ in
        machine.setAudioIntake(intake, of: call)
      }
    }
  }

  @Test func `nothing waits at first`() {
    var incoming = IncomingAudio(capacity: 2)
    let first = incoming.pop { _, _ in true }
    #expect(first == nil && incoming.isEmpty)
  }

  @Test func `audio goes to the intake at once, what waited first, and waits without one`() throws {
    let line = try Line()
    let intake = Intake()
    line.run(frames: 20)
    #expect(line.arrivals == 1, "told once until it is polled")
    line.setIntake(intake)
    #expect(intake.taken.withLock { $0.count } >= 20)
    line.run(frames: 50)
    let taken = intake.taken.withLock { $0 }
    #expect(taken.suffix(50).allSatisfy { $0.kind == .frame && $0.count == 80 && $0.isMeasured })
    #expect(taken.count >= 70 && line.arrivals == 1, "\(taken.count)")
    line.setIntake(nil)
    line.run(frames: 10)
    #expect(intake.taken.withLock { $0.count } == taken.count && line.arrivals == 2)
  }
}
