import Peer

/// One sender of a case.
package struct FlowSpec: Sendable {
  package enum Kind: Sendable { case media, cubic, shortCubic, bbr }

  package var kind = Kind.media
  /// In seconds of the case.
  package var start = 0.0
  package var stop = Double.infinity
  /// Nothing is sent: from, to, in seconds.
  package var pauses: [(Double, Double)] = []
  /// In bit/s of payload.
  package var audioRate = 32_000.0
  package var videoLeast = 100_000.0
  package var videoMost = 50_000_000.0
  package var hasVideo = true
  /// Its encoder makes small pictures for some seconds after a fall, which have no more to give.
  package var hasSmallPictures = false
  /// Of its own, one way, before the first link and after the last, in ms.
  package var ownDelay = 0.0
  /// How much too fast its clock runs.
  package var partsPerMillion = 0.0
  package var isECT = false
  package var weight = 1.0
  /// What a last-mile test found, in bit/s.
  package var priorRate: Double?
  /// Which links it takes, there and back.
  package var forward = [0]
  package var reverse = [1]
  package var fallsBack = false
  /// Its receiver asks for audio alone, by what it sees of the losses.
  package var isAskedFor = false
  /// It shares the uplink of its endpoint by `UplinkBudget`.
  package var sharesUplink = false

  package init() {}

  /// Of its two ends; `nil` for audio alone.
  var videoSettings: (sender: VideoSettings, receiver: VideoSettings)? {
    guard hasVideo else { return nil }
    var sender = VideoSettings()
    sender.mostBitsPerSecond = Int(videoMost)
    sender.leastBitsPerSecond = Int(videoLeast)
    sender.audioBitsPerSecond = Int(audioRate)
    sender.fallsBack = fallsBack
    var receiver = sender
    receiver.sends = false
    receiver.fallsBack = fallsBack || isAskedFor
    sender.priorRate = priorRate
    return (sender, receiver)
  }

  package static let media = FlowSpec()

  package func with(_ change: (inout FlowSpec) -> Void) -> FlowSpec {
    var copy = self
    change(&copy)
    return copy
  }
}
