import Audio
import Primitives
import Wire

/// Which frames reached the receiver at all, in whatever packet: what the line did, counted without
/// asking the receiver.
struct FrameFates: Sendable {
  private var sent = Set<Int>()
  private var arrived = Set<Int>()
  private var newest = 0

  /// One packet left; one that only repeats frames has none of its own.
  mutating func noteSent(_ frame: AudioMediaFrame, _ body: [UInt8]) {
    do throws(WireError) {
      guard try !AudioBody(body.span, hasCopies: frame.hasCopies).primary.isEmpty else { return }
    } catch {
      return  // The receiver counts it as damaged.
    }
    newest += Int(frame.mediaTime &- UInt16(truncatingIfNeeded: newest))
    sent.insert(newest)
  }

  /// One packet came, with what it carries.
  mutating func noteArrived(_ frame: AudioMediaFrame, _ body: [UInt8]) {
    do throws(WireError) {
      let parts = try AudioBody(body.span, hasCopies: frame.hasCopies)
      if !parts.primary.isEmpty { arrived.insert(place(frame.mediaTime)) }
      for index in 0..<parts.copyCount {
        arrived.insert(place(frame.mediaTime &- UInt16(parts.copy(index).distance)))
      }
    } catch {
      return  // The receiver counts it as damaged.
    }
  }

  private func place(_ mediaTime: UInt16) -> Int {
    newest - Int(Int16(bitPattern: UInt16(truncatingIfNeeded: newest) &- mediaTime))
  }

  /// Share of the frames that no packet brought, 0...1.
  var lostFraction: Double {
    sent.isEmpty ? 0 : Double(sent.subtracting(arrived).count) / Double(sent.count)
  }
}
