import Primitives
import Testing

@testable import Congestion

@Suite struct LossAccountTests {
  /// - Parameter loses: by the packet's number.
  private static func account(_ count: Int, loses: (Int) -> Bool) -> LossAccount {
    var account = LossAccount()
    for number in 0..<count {
      if loses(number) { account.addLost(UInt64(number)) } else { account.addArrived() }
    }
    return account
  }

  @Test func `tells how much is lost and in what runs`() {
    let single = Self.account(2000) { $0 % 20 == 7 }
    #expect(abs(single.share - 0.05) < 0.01 && single.run == 1)
    let runs = Self.account(2000) { $0 % 60 < 3 }
    #expect(abs(runs.share - 0.05) < 0.01 && abs(runs.run - 3) < 0.2)
    #expect(Self.account(40) { $0 % 2 == 0 }.share == 0, "too few to tell")
  }

  @Test func `an outage counts as a short run, and is forgotten`() {
    let outage = Self.account(3000) { (500..<700).contains($0) }
    #expect(outage.share < 0.001)
    let fresh = Self.account(700) { (500..<700).contains($0) }
    #expect(fresh.share < 0.02 && abs(fresh.run - 8) < 0.2)
  }

  @Test func `what was only late is not lost`() {
    var account = Self.account(100) { $0 == 50 }
    #expect(account.share > 0)
    account.addLate(50)
    #expect(account.share == 0 && account.run == 1)
  }

  /// Of 200 in a row eight counted: the others come late, and take nothing from true losses.
  @Test func `what did not count is not taken back`() {
    var account = Self.account(600) { $0 % 50 == 7 || (300..<500).contains($0) }
    let before = account.share
    for number in 308..<500 { account.addLate(UInt64(number)) }
    #expect(account.share == before)
    for number in 300..<308 { account.addLate(UInt64(number)) }
    #expect(account.share < before)
  }
}
