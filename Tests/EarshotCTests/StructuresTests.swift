import CEarshot
import Earshot
import EarshotMedia
import Testing

@testable import EarshotC

/// Structures that come from C, and what is heard until C takes it.
struct StructuresTests {
  /// Goal: a program that was built with fewer fields keeps working, and one with more as well.
  @Test func `a structure may be shorter or longer than ours`() throws {
    var options = unsafe earshot_call_options()
    unsafe options.size = 8
    unsafe options.send_rate = 16_000
    unsafe options.send_channels = 2
    let short = try unsafe withUnsafePointer(to: options) {
      try unsafe whole($0, earshot_call_options())
    }
    #expect(unsafe short.send_rate == 16_000)
    #expect(unsafe short.send_channels == 0, "beyond its 8 bytes there is nothing")
    unsafe options.size = 4096
    let long = try unsafe withUnsafePointer(to: options) {
      try unsafe whole($0, earshot_call_options())
    }
    #expect(unsafe long.send_channels == 2)
    #expect(unsafe long.starts_muted == 0)
  }

  @Test func `a structure without its size is refused`() {
    let options = unsafe earshot_call_options()
    let error = #expect(throws: EarshotError.self) {
      _ = try unsafe withUnsafePointer(to: options) { try unsafe CallPlan($0) }
    }
    #expect(error?.code == .invalidArgument)
  }

  @Test func `no structure at all means every default`() throws {
    let plan = try unsafe CallPlan(nil)
    #expect(plan.sound.input.rate == 48_000)
    #expect(plan.sound.output.channelCount == 1)
    #expect(plan.options.bitrate == CallOptions().bitrate)
    #expect(!plan.options.startsMuted)
  }

  /// Goal: a second at the most, the newest; in their order.
  @Test func `what nobody takes is dropped, the oldest first`() {
    let ring = SoundRing(channels: 1)
    for number in 0..<250 {
      ring.write([Int16](repeating: Int16(number), count: 240), frameCount: 240)
    }
    var heard = [Int16](repeating: 0, count: 60_000)
    var room = heard.mutableSpan
    let count = ring.read(into: &room)
    #expect(count == 48_000)
    #expect(heard[0] == 50 && heard[47_999] == 249)
    var rest = heard.mutableSpan
    #expect(ring.read(into: &rest) == 0)
  }
}
