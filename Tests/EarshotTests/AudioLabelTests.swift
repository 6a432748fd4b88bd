import Peer
import Primitives
import Testing
import Wire

@testable import Earshot

@Suite struct AudioLabelTests {
  @Test(arguments: AudioMediaFrame.Length.allCases)
  func `says in the other thread what it said in the one`(length: AudioMediaFrame.Length) {
    var label = AudioLabel(AudioBodyHeader(.report))
    label.mediaTime = 0xBEEF
    label.length = length
    label.arrival = 123_456_789_012
    for kind in [AudioKind.frame, .report, .request] {
      for flags in 0..<4 {
        label.kind = kind
        label.isMarked = flags & 1 == 1
        label.hasCopies = flags & 2 == 2
        label.allowedKilobits = [1, 64, 510, 511][flags]
        label.roundTrip = flags == 0 ? nil : (smoothed: 65_535, minimum: 7)
        let read = AudioLabel(label.packed)
        #expect(read.kind == kind && read.length == length && read.mediaTime == 0xBEEF)
        #expect(read.isMarked == label.isMarked && read.hasCopies == label.hasCopies)
        #expect(read.arrival == label.arrival)
        #expect(read.allowedKilobits == [1, 64, 510, 511][flags])
        #expect(read.roundTrip?.smoothed == label.roundTrip?.smoothed)
        #expect(read.roundTrip?.minimum == label.roundTrip?.minimum)
      }
    }
  }
}
