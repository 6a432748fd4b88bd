import CongestionLab
import Primitives
import Testing
import Wire

@testable import Peer

/// What a member of a channel says to a relay of before, whose RESP says nothing in byte 80.
@Suite struct OldRelayTests {
  /// Bytes of the packet that says which pictures are wanted.
  private func wish(knowsLow: Bool) -> Int {
    var random = RandomSource(seed: 7)
    let end = LabEnd.pair(nil, drift: 0, random: &random).sender
    var settings = VideoSettings()
    settings.sends = false
    let pictures = RelayedPictures(settings, receives: true)
    pictures.open(on: end.association, knowsLow: knowsLow)
    let bytes = [UInt8](capacity: Datagram.maximumByteCount) { output in
      _ = pictures.write(
        into: &output, on: end.association, now: Instant(nanoseconds: 6_000_000_000))
    }
    return bytes.count
  }

  /// Goal: what a relay does not know would count there as an error.
  @Test func `a relay that does not know low streams is sent no word of them`() {
    let word = [UInt8](capacity: 64) { output in
      ChannelLowFrame(bitsPerSecond: 0).write(to: &output)
    }
    let without = wish(knowsLow: false)
    #expect(without > 0 && word.count > 0)
    #expect(wish(knowsLow: true) == without + word.count)
  }
}
