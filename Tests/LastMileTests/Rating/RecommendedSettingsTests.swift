import Testing

@testable import LastMile

@Suite struct RecommendedSettingsTests {
  private static func settings(_ change: (inout RatedLine) -> Void) -> RecommendedSettings {
    var line = RatedLine()
    change(&line)
    return RecommendedSettings(line.report)
  }

  @Test func `the weaker direction decides`() {
    let settings = Self.settings { $0.up.rate = 60_000 }
    #expect(settings.audioBitrate == 32_000 && settings.frameMilliseconds == 40)
    #expect(settings.videoCeiling == 0)
    #expect(settings.audioBasis.contains("58 kbit/s"))
    #expect(Self.settings { _ in }.audioBitrate == 48_000)
  }

  @Test(arguments: Array(stride(from: 5_000.0, through: 3_000_000, by: 5_000)))
  func `sound and picture together stay within what the line carries`(rate: Double) {
    let settings = Self.settings { $0.down.rate = rate }
    let headers = 56 * 8 * 1000 / settings.frameMilliseconds
    let sound = Double(settings.audioBitrate + headers)
    guard settings.audioBitrate > RecommendedSettings.audioLadder[0] else { return }
    #expect(sound + Double(settings.videoCeiling ?? 0) <= rate)
  }

  @Test func `coarse copies ride along where loss was seen, or cannot be ruled out`() {
    #expect(!Self.settings { _ in }.usesFEC)
    #expect(Self.settings { $0.down.loss = 0.001 }.usesFEC)
    var report = RatedLine().report
    report.uplink?.loss = ShareEstimate(hits: 0, of: 50)
    #expect(RecommendedSettings(report).usesFEC)
  }

  @Test func `the jitter buffer begins with a frame and what most packets need`() {
    #expect(Self.settings { $0.down.jitterMs = 0 }.jitterBufferStartMs == 20)
    #expect(Self.settings { $0.down.jitterMs = 31 }.jitterBufferStartMs == 60)
    #expect(Self.settings { $0.down.jitterMs = 1e9 }.jitterBufferStartMs == 480)
    #expect(Self.settings { $0.down.jitterMs = .nan }.jitterBufferStartMs == 60)
  }
}
