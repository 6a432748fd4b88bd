/// How raw samples are to be understood: signed, 16 bits, little-endian, interleaved.
package struct RawFormat: Equatable, Sendable {
  /// 8000...192000.
  package let rateHz: Int
  /// 1 or 2.
  package let channels: Int

  /// What `--play -` takes unless told otherwise, and what `--save -` gives.
  package static let usual = RawFormat(rateHz: 48_000, channels: 1)

  private init(rateHz: Int, channels: Int) {
    self.rateHz = rateHz
    self.channels = channels
  }

  /// `44100`, or `44100/2` with the number of channels; `nil` for anything else.
  package init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count <= 2, let rate = Int(parts[0]), (8000...192_000).contains(rate) else {
      return nil
    }
    let channels = parts.count == 2 ? Int(parts[1]) : 1
    guard let channels, (1...2).contains(channels) else { return nil }
    self.init(rateHz: rate, channels: channels)
  }

  var bytesPerFrame: Int { 2 * channels }
}
