import Earshot
import PeerCommand
import Testing

/// Key `c` where there are several calls: whose short code is confirmed.
struct CallCodesTests {
  private let calls = (1...3 as ClosedRange<UInt8>).map { number in
    CallID(bytes: Array(repeating: number, count: 16))
  }

  private var codes: CallCodes {
    var codes = CallCodes()
    for (call, name) in zip(calls, ["bob", "carol", "dan"]) { codes.append(call, name) }
    codes.show(codes.choices(calls))
    return codes
  }

  @Test func `a number is that of the list that was shown`() {
    var codes = codes
    #expect(codes.isChoosing)
    #expect(codes.choose("2", calls) == calls[1] && !codes.isChoosing)
  }

  @Test func `who hangs up meanwhile moves nobody to another number`() {
    for (key, expected) in zip("123" as String, [nil, calls[1], calls[2]]) {
      var codes = codes
      #expect(codes.choose(key, [calls[1], calls[2]]) == expected)
    }
  }

  @Test func `nothing is confirmed where nothing is left, by another key, or twice`() {
    for key in "0149x" as String {
      var codes = codes
      #expect(codes.choose(key, []) == nil)
    }
    var codes = codes
    codes.confirm(calls[0])
    #expect(codes.choose("1", calls) == nil)
    #expect(codes.choose("1", calls) == nil, "no list was shown")
  }
}
