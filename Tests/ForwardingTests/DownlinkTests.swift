import Primitives
import Testing
import Wire

@testable import Forwarding

/// Which pictures a member's line is for.
struct DownlinkTests {
  private let start = Instant(nanoseconds: 1_000_000_000)
  private let needs = needs()

  /// One host's.
  private static func needs(low: Double = 0) -> PictureNeeds {
    var needs = PictureNeeds()
    needs.append(
      PictureNeeds.Host(
        source: 1, low: [low * 0.6, low], usual: [400_000, 600_000, 1_000_000]))
    return needs
  }

  @Test func `layers go one after the other where the line gets narrower, and come back`() {
    var choice = PictureChoice(now: start)
    var levels: [Int] = []
    func update(_ seconds: Int64, _ available: Double, overloaded: Bool = false) {
      choice.update(
        available: available, needs: needs, isOverloaded: overloaded, now: start + .seconds(seconds)
      )
      levels.append(choice.level)
    }
    update(1, 2_000_000)
    update(2, 700_000)
    update(4, 700_000, overloaded: true)
    update(5, 450_000)
    update(7, 450_000, overloaded: true)
    update(8, 100_000)
    update(10, 100_000, overloaded: true)
    update(12, 2_000_000)
    update(13, 1_500_000)
    update(14, 2_000_000)
    #expect(levels == [5, 5, 4, 4, 3, 3, 0, 0, 5, 5])
  }

  @Test func `what is too much again right after a step down is not waited for`() {
    var choice = PictureChoice(now: start)
    choice.takesLow = true
    var views: [ChannelLowFrame.View] = []
    func update(_ milliseconds: Int64, _ available: Double, overloaded: Bool) {
      choice.update(
        available: available, needs: Self.needs(low: 120_000), isOverloaded: overloaded,
        now: start + .milliseconds(milliseconds))
      views.append(choice.view)
    }
    update(1000, 600_000, overloaded: true)
    update(1100, 300_000, overloaded: false)
    update(1200, 300_000, overloaded: true)
    // The low stream is what there is: it goes on for half a second.
    update(1300, 10_000, overloaded: true)
    update(1700, 10_000, overloaded: true)
    #expect(views == [.usual, .usual, .low, .low, .audioOnly])
  }

  @Test func `a pause of what a host shows does not make it seem small`() throws {
    var pictures = SeatPictures()
    pictures.handleLow(ChannelLowFrame(bitsPerSecond: 100_000), most: 500_000)
    var now = start
    func show(_ count: Int) {
      for _ in 0..<count {
        now = now + .milliseconds(33)
        pictures.recordShown(0, byteCount: 4000, now: now)
      }
    }
    show(90)
    let before = try #require(pictures.needs(of: 1, now: now)).usual[2]
    now = now + .milliseconds(700)
    show(3)
    let after = try #require(pictures.needs(of: 1, now: now)).usual[2]
    #expect(after > before * 0.75 && after < before * 1.1, "\(before) \(after)")
  }

  @Test func `the low stream is between the usual one and none, for who understands it`() {
    for takesLow in [true, false] {
      var choice = PictureChoice(now: start)
      choice.takesLow = takesLow
      var views: [ChannelLowFrame.View] = []
      for (second, available) in zip([1, 3, 5, 7] as [Int64], [2e6, 200e3, 80e3, 10e3]) {
        choice.update(
          available: available, needs: Self.needs(low: 120_000), isOverloaded: second > 1,
          now: start + .seconds(second))
        views.append(choice.view)
      }
      #expect(
        views
          == (takesLow
            ? [.usual, .low, .low, .audioOnly] : [.usual, .audioOnly, .audioOnly, .audioOnly]))
    }
  }

  /// A moment's estimate right after a step up in vain is too little.
  @Test func `a step up in vain leads to no less than the step before, at first`() {
    var choice = PictureChoice(now: start)
    choice.takesLow = true
    var levels: [Int] = []
    func update(_ second: Double, _ available: Double, overloaded: Bool = false) {
      choice.update(
        available: available, needs: Self.needs(low: 100_000), isOverloaded: overloaded,
        now: start + .milliseconds(Int64(second * 1000)))
      levels.append(choice.level)
    }
    update(1, 70_000, overloaded: true)
    // It is held for 5 s; then a burst looks as if the line carried more.
    for second in [6.0, 7.1] { update(second, 120_000) }
    #expect(levels == [1, 1, 2])
    update(8, 50_000, overloaded: true)
    #expect(levels.last == 1)
    update(8.6, 50_000, overloaded: true)
    #expect(levels.last == 0)
    // It is too much as well: 12 s pass before the next try.
    for second in stride(from: 9.0, through: 20.5, by: 0.5) { update(second, 70_000) }
    #expect(levels.last == 0)
    update(21, 70_000)
    #expect(levels.last == 1)
  }

  @Test func `three hosts keep what they had before several steps up in vain`() {
    var choice = PictureChoice(now: start)
    choice.takesLow = true
    var needs = PictureNeeds()
    for source in 1...3 as ClosedRange<UInt8> {
      needs.append(
        PictureNeeds.Host(source: source, low: [60_000, 100_000], usual: [4e5, 6e5, 1e6]))
    }
    var levels: [Int] = []
    func update(_ second: Double, _ available: Double, overloaded: Bool = false) {
      choice.update(
        available: available, needs: needs, isOverloaded: overloaded,
        now: start + .milliseconds(Int64(second * 1000)))
      levels.append(choice.level)
    }
    update(1, 130_000, overloaded: true)
    update(1.6, 130_000, overloaded: true)
    for second in [6.0, 7.1] { update(second, 320_000) }
    update(8, 50_000, overloaded: true)
    #expect(levels == [3, 2, 2, 5, 2])
  }

  /// A host that only one member watches makes what that member can have.
  @Test func `a layer of the low stream is sent while it saves a sixth of the usual one`() {
    for (first, low) in [(130_000.0, 100_000.0), (110_000, 60_000), (70_000, 0)] {
      let host = PictureNeeds.Host(
        source: 1, low: [60_000, 100_000], usual: [first, first, first])
      #expect(host.rate(2, takesLow: true) == low)
      #expect(host.rate(1, takesLow: true) == min(low, 60_000))
      #expect(host.rate(3, takesLow: true) == first)
      #expect(host.rate(2, takesLow: false) == 0)
    }
  }

  @Test func `where nothing is left of what was there, the next step waits a second`() {
    var choice = PictureChoice(now: start)
    choice.takesLow = true
    func needs(_ first: Double) -> PictureNeeds {
      var needs = PictureNeeds()
      needs.append(
        PictureNeeds.Host(source: 1, low: [60_000, 100_000], usual: [first, first, first]))
      return needs
    }
    func update(_ second: Double, _ available: Double, _ first: Double, overloaded: Bool = false) {
      choice.update(
        available: available, needs: needs(first), isOverloaded: overloaded,
        now: start + .milliseconds(Int64(second * 1000)))
    }
    // One step up in vain, so that the next one would wait for 12 s.
    update(1, 70_000, 4e5, overloaded: true)
    for second in [3.0, 4.1] { update(second, 120_000, 4e5) }
    update(5, 70_000, 4e5, overloaded: true)
    #expect(choice.level == 1)
    update(6, 80_000, 65_000)
    #expect(choice.step(of: 1) == 0)
    update(7.1, 80_000, 65_000)
    #expect(choice.step(of: 1) == PictureNeeds.usual)
  }

  @Test func `each host has one step more in turn`() {
    var needs = PictureNeeds()
    for source in [3, 7, 9] as [UInt8] {
      needs.append(
        PictureNeeds.Host(source: source, low: [60e3, 100e3], usual: [300e3, 400e3, 500e3]))
    }
    #expect(needs.fitting(59e3, takesLow: true) == 0)
    #expect(needs.fitting(130e3, takesLow: true) == 2)
    #expect(needs.fitting(500e3, takesLow: true) == 7)
    #expect((0..<3).map { needs.step($0, at: 7) } == [3, 2, 2])
    #expect(needs.fitting(1e9, takesLow: true) == needs.highest)
    #expect(needs.fitting(299e3, takesLow: false) == 0 && needs.lower(7, takesLow: false) == 0)
    #expect(needs.without(7).fitting(130e3, takesLow: true) == 2 && needs.without(7).count == 2)
  }

  @Test func `what a host does not use goes to the others`() {
    func share(_ rates: [Double], _ rate: Double) -> Double {
      var needs = PictureNeeds()
      for (place, usual) in rates.enumerated() {
        needs.append(
          PictureNeeds.Host(source: UInt8(place + 1), usual: [usual / 2, usual / 2, usual]))
      }
      return needs.share(of: rate)
    }
    #expect(share([], 900e3) == 900e3 && share([100e3], 900e3) == 900e3)
    #expect(share([300e3, 300e3, 300e3], 900e3) == 300e3)
    #expect(share([300e3, 80e3, 80e3], 900e3) == 700e3)
    #expect(share([600e3, 500e3, 80e3], 900e3) == 400e3)
    // Who begins: nobody is told more than its part before another one leaves it.
    #expect(share([10e3, 10e3, 10e3], 900e3) == 300e3)
  }

  @Test func `what the estimate does not promise is tried less often each time, until it holds`() {
    var choice = PictureChoice(now: start)
    /// Seconds in which a try began.
    func tries(_ seconds: Range<Int64>, _ available: Double) -> [Int64] {
      seconds.filter { second in
        let before = choice.isTrying
        choice.update(
          available: available, needs: needs, isOverloaded: choice.level > 3 && available < 600_000,
          now: start + .seconds(second))
        return choice.isTrying && !before
      }
    }
    let first = tries(1..<90, 450_000)
    #expect(choice.level == 3)
    #expect(first.count >= 3 && first[1] - first[0] < first[2] - first[1], "\(first)")
    _ = tries(90..<200, 2_000_000)
    #expect(choice.level == 5)
    // The line is narrower again: a try comes as soon as at first.
    let later = tries(200..<260, 450_000)
    #expect(later.first.map { $0 <= 212 } == true, "\(later)")
  }

  @Test func `a source's other stream begins with a key frame, and the low one ends no sooner`() {
    var choice = PictureChoice(now: start)
    choice.takesLow = true
    let low = Self.needs(low: 120_000)
    choice.update(available: 1e7, needs: low, isOverloaded: false, now: start)
    func admits(_ stream: UInt8, key: Bool) -> Bool {
      var header = Relay.picture(key ? 0 : 1, 0)
      header.stream = stream
      return choice.admits(header, of: 1)
    }
    #expect(admits(0, key: false) && !admits(1, key: true))
    choice.update(available: 2e5, needs: low, isOverloaded: true, now: start + .seconds(1))
    #expect(!admits(0, key: true), "it is too much")
    #expect(choice.streamLackingKeyFrame(of: 1) == 1 && !admits(1, key: false))
    #expect(admits(1, key: true) && admits(1, key: false))
    #expect(choice.streamLackingKeyFrame(of: 1) == nil)
    for second in [8, 9] as [Int64] {
      choice.update(available: 1e7, needs: low, isOverloaded: false, now: start + .seconds(second))
    }
    #expect(choice.streamLackingKeyFrame(of: 1) == 0 && choice.needsLow(of: 1))
    #expect(admits(1, key: false) && !admits(0, key: false))
    #expect(admits(0, key: true) && admits(1, key: false) && choice.needsLow(of: 1))
    #expect(admits(0, key: false) && !admits(1, key: false))
    #expect(!choice.needsLow(of: 1))
  }

  @Test func `after what was left out a source begins with a key frame`() {
    var choice = PictureChoice(now: start)
    let (key, other) = (Relay.picture(0, 0), Relay.picture(1, 0))
    var admitted = [choice.admits(other, of: 1)]
    choice.awaitKeyFrames()
    for (header, source) in [(other, 1), (key, 1), (other, 1), (other, 2)] {
      admitted.append(choice.admits(header, of: UInt8(source)))
    }
    #expect(admitted == [true, false, true, true, false])
    #expect(choice.streamLackingKeyFrame(of: 1) == nil && choice.streamLackingKeyFrame(of: 2) == 0)
  }

  @Test func `what waits goes at the pace of the line, repairs first`() {
    let downlink = Downlink(limits: ForwardingLimits(), now: start)
    for number in 1...20 as ClosedRange<UInt32> {
      let content: ForwardingQueue.Content =
        number > 18 ? .pictureAgain(from: 1, number) : .picture(from: 1, number)
      #expect(
        downlink.append(
          ForwardingQueue.Job(slot: 2, seat: 1, content: content), isAgain: number > 18,
          byteCount: 1150))
    }
    var now = start
    var left: [UInt32] = []
    while downlink.waitingCount > 0, now < start + .seconds(2) {
      if let job = downlink.popDue(now: now) {
        left.append(UInt32(left.count))
        if left.count <= 2, case .picture = job.content { Issue.record("repairs come first") }
        downlink.recordSent(UInt32(left.count), job.content, byteCount: 1200, now: now)
      } else {
        now = max(now + .microseconds(100), downlink.admission(now: now))
      }
    }
    #expect(left.count == 20)
    // 24 kB at a Mbit/s or a little more, and slower while nothing is reported.
    #expect((.milliseconds(80)...(.seconds(1))).contains(now - start), "\(now - start)")
  }
}
