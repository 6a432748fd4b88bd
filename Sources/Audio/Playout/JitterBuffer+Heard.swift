/// Where the sound is: for pictures that are to go with it.
extension JitterBuffer {
  /// Media time, in nanoseconds of the sender's clock as unwrapped here, of the sample that the
  /// next pull begins with; `nil` while what is heard has no media time: before the first packet,
  /// and while it is made up.
  ///
  /// Its count of 10 ms agrees with the packets' media time in the low 16 bits.
  package var heardNanoseconds: Int64? {
    guard case .playing = phase, concealment.sampleCount == 0 else { return nil }
    return AudioFormat.nanoseconds(samples: nextTimestamp &- Int64(queue.count))
  }
}
