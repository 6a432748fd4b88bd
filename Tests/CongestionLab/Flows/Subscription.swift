import Congestion
import Primitives

/// A receiver that asks its sender to leave video out, as `Peer` does it: by the share of packets
/// that did not come in the last second. What it asks for holds 100 ms later.
struct Subscription {
  private var machine: FallbackMachine
  private var loss: Double?
  private var received = 0
  private var first: UInt64?
  private var newest: UInt64 = 0
  private var turned: UInt64 = 0
  private var asked: UInt64 = 0
  private(set) var isAsking = false

  init(_ limits: FallbackLimits) {
    var limits = limits
    limits.lossTime = .seconds(4)
    machine = FallbackMachine(limits)
  }

  mutating func note(_ number: UInt64) {
    received += 1
    first = first ?? number
    newest = max(newest, number)
  }

  mutating func update(at time: UInt64) -> FallbackMachine.Change? {
    if time >= turned + 1_000_000_000 {
      if let first, received >= 10 {
        loss = max(0, 1 - Double(received) / Double(newest - first + 1))
      }
      turned = time
      received = 0
      first = nil
    }
    guard let loss else { return nil }
    let sighting = FallbackMachine.Sighting(
      estimate: .infinity, loss: loss, queueDelay: 0, isHeard: true, proven: .infinity)
    let change = machine.update(sighting, now: Instant(nanoseconds: time))
    if change != nil {
      asked = time
      isAsking = machine.mode == .audioOnly
    }
    return change
  }

  /// At the sender.
  func isVideoWanted(at time: UInt64) -> Bool {
    isAsking == (time < asked + Self.delay)
  }

  private static let delay: UInt64 = 100_000_000
}
