import GroupKeys
import Primitives
import SecureSession
import Wire

/// Nanoseconds of thread CPU time for one envelope.
enum EnvelopeCost {
  static func measure(count: Int) -> (seal: Double, open: Double)? {
    var random = RandomSource(seed: 2)
    var first = LocalIdentity(kind: .peer, unixSeconds: ChannelPair.wall, random: &random)
    var second = LocalIdentity(kind: .peer, unixSeconds: ChannelPair.wall, random: &random)
    guard let one = ChannelPair.member(1, .host, &first),
      let two = ChannelPair.member(2, .audience, &second)
    else { return nil }
    let parties = KeyEnvelope.Parties(channel: .zero, sender: one, receiver: two)
    var (sealing, opening): (UInt64, UInt64) = (0, 0)
    do {
      for generation in 0..<count {
        let envelope = KeyEnvelope(
          key: SenderKey(generation: UInt32(generation), random: &random), receipt: .zero,
          rosterRevision: 1, rosterDigest: .zero)
        let start = SFramePathProgram.threadNanoseconds()
        let bytes = try envelope.seal(for: parties, by: first, random: &random)
        let middle = SFramePathProgram.threadNanoseconds()
        _ = try KeyEnvelope.open(bytes.span, for: parties, by: second)
        sealing += middle - start
        opening += SFramePathProgram.threadNanoseconds() - middle
      }
    } catch {
      print("an envelope was not opened: \(error)")
      return nil
    }
    return (Double(sealing) / Double(count), Double(opening) / Double(count))
  }
}
