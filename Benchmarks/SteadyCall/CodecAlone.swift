import Audio
import Glibc

/// The part of a call end that nobody can save: one frame encoded and one decoded every 20 ms, with
/// a sleep in between, because a processor that has slept is slower than one that has not.
enum CodecAlone {
  static func measure(frames: Int) throws -> String {
    var encoder = try OpusEncoder()
    var decoder = try OpusDecoder(channels: 1)
    let speech = Speech(watch: TickWatch())
    var samples = [Int16](repeating: 0, count: 960)
    var packet: [UInt8] = []
    packet.reserveCapacity(AudioFormat.maxPayloadByteCount)
    var heard = [Int16](repeating: 0, count: AudioFormat.maxPacketSampleCount)
    var spent: UInt64 = 0
    for _ in 0..<frames {
      _ = speech.read(into: &samples, frameCount: 960)
      let before = threadNanoseconds()
      packet.removeAll(keepingCapacity: true)
      try packet.append(addingCapacity: AudioFormat.maxPayloadByteCount) { output in
        _ = try encoder.encode(samples.span, into: &output)
      }
      var span = heard.mutableSpan
      _ = try decoder.decode(packet.span, into: &span)
      spent += threadNanoseconds() - before
      usleep(19_000)
    }
    let each = Double(spent) / Double(frames)
    return "{\"microsecondsPerFrame\": \(each / 1000), \"cpuPercent\": \(each / 200_000)}"
  }

  private static func threadNanoseconds() -> UInt64 {
    var time = timespec()
    _ = unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
