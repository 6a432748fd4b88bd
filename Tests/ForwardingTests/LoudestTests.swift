import Primitives
import Testing
import Wire

@testable import Forwarding

/// How many of the loudest a member has chosen to hear (docs/protocol/relay.md §4).
struct LoudestTests {
  /// Six hosts, the first the loudest, and members that have chosen.
  private func makeRelay(
    _ choices: [Int], _ limits: ForwardingLimits = ForwardingLimits()
  ) -> Relay {
    let relay = Relay(limits)
    for slot in 1...6 as ClosedRange<UInt32> { relay.join(slot) }
    for (place, choice) in choices.enumerated() {
      relay.join(UInt32(10 + place), .audience, loudest: choice)
    }
    return relay
  }

  private func speak(_ relay: Relay, _ rounds: Range<UInt16>, levels: [UInt8]) {
    relay.forgetReceived()
    for round in rounds {
      for (place, level) in levels.enumerated() {
        relay.speak(UInt32(place + 1), round * 2, level: level)
      }
      relay.now = relay.now + .milliseconds(20)
    }
  }

  /// How many frames of each host a member has heard.
  private func heard(_ relay: Relay, _ slot: UInt32) -> [Int] {
    let frames = (relay.received[slot] ?? []).flatMap(\.audio)
    return (1...6 as ClosedRange<UInt8>).map { host in frames.count { $0.bytes[0] == host } }
  }

  @Test func `each member hears as many as it has chosen, and others what all hear`() {
    let choices = [0, 1, 2, 4, 6, 64]
    let relay = makeRelay(choices)
    let levels: [UInt8] = [10, 15, 20, 30, 40, 50]
    speak(relay, 0..<50, levels: levels)
    speak(relay, 50..<150, levels: levels)
    for (place, choice) in choices.enumerated() {
      let count = choice == 0 ? 3 : min(6, choice)
      let expected = (0..<6).map { $0 < count ? 100 : 0 }
      #expect(heard(relay, UInt32(10 + place)) == expected, "\(choice)")
    }
    // A host that has chosen nothing hears three others, or two where it is one of the three.
    #expect(heard(relay, 6) == [100, 100, 100, 0, 0, 0])
    #expect(heard(relay, 1) == [0, 100, 100, 0, 0, 0])
  }

  @Test func `who becomes louder is heard in place of another, and nobody in crumbs`() {
    let relay = makeRelay([1, 4])
    speak(relay, 0..<100, levels: [20, 30, 30, 30, 30, 60])
    #expect(heard(relay, 10) == [100, 0, 0, 0, 0, 0])
    // Nearly as loud: the place stays.
    speak(relay, 100..<500, levels: [20, 18, 30, 30, 30, 60])
    #expect(heard(relay, 10) == [400, 0, 0, 0, 0, 0])
    speak(relay, 500..<900, levels: [60, 18, 30, 30, 30, 60])
    let counts = heard(relay, 10)
    // One of its frames comes before any of the other.
    #expect(counts[1] >= 350 && (400...401).contains(counts[0] + counts[1]), "\(counts)")
    // Whoever is silent has no place.
    speak(relay, 900..<1000, levels: [127, 127, 127, 127, 127, 40])
    #expect(heard(relay, 10)[5] >= 85 && heard(relay, 11)[5] >= 85)
  }

  @Test func `an operator's bound holds`() {
    var limits = ForwardingLimits()
    limits.chosen = 2
    let relay = makeRelay([6], limits)
    speak(relay, 0..<50, levels: [10, 15, 20, 30, 40, 50])
    #expect(heard(relay, 10) == [50, 50, 0, 0, 0, 0])
    // Whoever has chosen has gone: what nobody hears goes to nobody.
    relay.hub.remove(10)
    speak(relay, 50..<60, levels: [10, 15, 20, 30, 40, 50])
    #expect(heard(relay, 6) == [10, 10, 10, 0, 0, 0])
  }
}
