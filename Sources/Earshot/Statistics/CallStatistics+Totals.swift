internal import Primitives
internal import Reactor

extension CallStatistics {
  /// Sums since the call's media began: payload of video, and of audio what was received; of audio
  /// sent all UDP payload.
  public struct Totals: Sendable, Equatable {
    /// Since the call's zero point, in milliseconds.
    public var durationMs = 0
    /// Bytes of audio.
    public var audioBytesSent = 0
    /// Bytes of audio.
    public var audioBytesReceived = 0
    /// Bytes of video, parity and repetitions left out.
    public var videoBytesSent = 0
    /// Bytes of video.
    public var videoBytesReceived = 0
    /// Audio and video.
    public var bytesSent: Int { audioBytesSent + videoBytesSent }
    /// Audio and video.
    public var bytesReceived: Int { audioBytesReceived + videoBytesReceived }
  }

  /// Rates since the numbers before (`EndpointEvent.statistics`), in bit/s.
  public struct Interval: Sendable, Equatable {
    /// How long that is, in milliseconds.
    public var durationMs = 0
    /// Of audio sent.
    public var audioSentBps = 0.0
    /// Of audio received.
    public var audioReceivedBps = 0.0
    /// Of video sent.
    public var videoSentBps = 0.0
    /// Of video received.
    public var videoReceivedBps = 0.0
  }

  /// What the program and its host are busy with.
  public struct Usage: Sendable, Equatable {
    /// Calls of this endpoint that have media.
    public var calls = 0
    /// Of one core, since the numbers before; more than 1 on several cores.
    public var processShare: Double?
    /// Of all cores, by all programs, 0...1.
    public var hostShare: Double?
    /// Bytes of this program in memory.
    public var residentBytes = 0
    /// Its share of the host's memory, 0...1.
    public var residentFraction: Double?
    /// Share of the host's memory that is in use, 0...1.
    public var usedMemoryFraction: Double?
  }

  /// Sums since the beginning.
  public var totals: Totals {
    var totals = Totals(durationMs: atMs)
    totals.audioBytesSent = sent.wireBytesSent
    totals.audioBytesReceived = received.bytesReceived
    totals.videoBytesSent = videoSent?.bytesSent ?? 0
    totals.videoBytesReceived = videoReceived?.bytesReceived ?? 0
    return totals
  }
}

extension CallStatistics.Interval {
  /// `nil` where no time lies between.
  init?(from before: CallStatistics.Totals, to now: CallStatistics.Totals) {
    let elapsed = now.durationMs - before.durationMs
    guard elapsed > 0 else { return nil }
    func rate(_ bytes: KeyPath<CallStatistics.Totals, Int>) -> Double {
      Double(max(0, now[keyPath: bytes] - before[keyPath: bytes]) * 8000) / Double(elapsed)
    }
    durationMs = elapsed
    audioSentBps = rate(\.audioBytesSent)
    audioReceivedBps = rate(\.audioBytesReceived)
    videoSentBps = rate(\.videoBytesSent)
    videoReceivedBps = rate(\.videoBytesReceived)
  }
}

extension CallStatistics.Usage {
  init(_ usage: HostUsage, calls: Int) {
    self.calls = calls
    processShare = usage.processShare
    hostShare = usage.hostShare
    residentBytes = usage.residentBytes
    residentFraction = usage.residentFraction
    usedMemoryFraction = usage.usedMemoryFraction
  }
}
