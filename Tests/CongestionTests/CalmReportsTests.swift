import Primitives
import Testing
import Wire

@testable import Congestion

/// How often a member reports the sound that a relay sends it: `ArrivalCalm` beside the usual pace.
@Suite struct CalmReportsTests {
  /// Goal: as in the world, but for what it is asked.
  @Test func `calm ends with trouble, and with more than one host`() {
    var calm = ArrivalCalm()
    for number in 0..<300 as Range<UInt64> {
      calm.noteArrival(number, isSound: true, now: at(1000 + number * 20))
      if number % 40 == 0 { calm.noteReport(now: at(1000 + number * 20)) }
    }
    #expect(calm.holds(now: at(7000)))
    calm.noteArrival(300, isSound: false, now: at(7001))
    #expect(!calm.holds(now: at(7002)) && calm.holds(now: at(12_002)))
    calm.noteReport(now: at(12_002))
    for number in 301..<420 as Range<UInt64> {
      calm.noteArrival(number, isSound: true, now: at(12_002))
    }
    #expect(!calm.holds(now: at(12_003)), "so many come from no single host")
  }

  /// A stream for a minute, and when reports of it went, in ms.
  private struct Stream {
    var frame: UInt64 = 20
    var hosts = 1
    /// Numbers that do not come.
    var lost: Set<UInt64> = []
    /// More hosts from then on.
    var more: (hosts: Int, from: UInt64)?
    var marked: Set<UInt64> = []
    /// Longer than sound is: padding, by which the relay tries what the line carries.
    var long: Set<UInt64> = []

    func reports(isSoundAlone: Bool = true) throws -> [UInt64] {
      var recorder = FeedbackRecorder.ofRelay
      recorder.setRelayed(hasPictures: false, isSoundAlone: isSoundAlone)
      var number: UInt64 = 0
      var found: [UInt64] = []
      for time in 1000..<61_000 as Range<UInt64> {
        if (time - 1000) % frame == 0 {
          let count = more.map { time >= $0.from ? $0.hosts : hosts } ?? hosts
          for _ in 0..<count {
            if !lost.contains(number) {
              recorder.record(
                number, at: at(time), isCongestionExperienced: marked.contains(number),
                demand: .interval, byteCount: long.contains(number) ? 600 : 108)
            }
            number += 1
          }
        }
        guard recorder.isDue(now: at(time)) else { continue }
        found.append(time)
        _ = try takeReport(&recorder, now: at(time))
      }
      return found
    }
  }

  /// Goal: each report wakes the relay, so one listener of a host costs it 1.3 a second.
  @Test(arguments: [20, 40, 60] as [UInt64])
  func `one host of whom nothing is missing is reported each 800 ms`(_ frame: UInt64) throws {
    let reports = try Stream(frame: frame).reports()
    #expect(reports.count { $0 < 6000 } >= 20, "at first as ever")
    #expect((60...75).contains(reports.count { $0 >= 7000 }), "\(reports.count)")
  }

  @Test func `what is missing or marked is told at once, and at the usual pace for 5 s`() throws {
    // Number 1000 is due at 21 s.
    let streams = [
      Stream(lost: [1000]), Stream(lost: [999, 1000, 1001]), Stream(marked: [1001]),
      Stream(long: [1001]),
    ]
    for stream in streams {
      let reports = try stream.reports()
      let first = try #require(reports.first { $0 > 21_020 })
      #expect(first <= 21_100, "\(first)")
      #expect((24...27).contains(reports.count { (21_020..<26_000).contains($0) }))
      #expect((6...8).contains(reports.count { (27_000..<33_000).contains($0) }))
    }
  }

  @Test func `where a second host speaks the usual pace is back within half a second`() throws {
    let reports = try Stream(more: (2, from: 30_000)).reports()
    let soon = reports.filter { (30_000..<30_800).contains($0) }
    #expect(soon.count >= 2, "\(soon)")
    #expect(reports.count { (31_000..<36_000).contains($0) } >= 25)
    // Frames of 10 ms are as many packets.
    #expect(try Stream(frame: 10).reports().count { $0 >= 7000 } >= 260)
  }

  @Test func `where there may be pictures nothing changes`() throws {
    #expect(try Stream().reports(isSoundAlone: false).count >= 290)
  }
}
