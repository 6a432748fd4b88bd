internal import Audio
internal import Congestion
internal import LastMile
internal import Peer
internal import Video

extension CallStatistics {
  /// What became of a call's packets, before any repair: what its grades go by.
  package struct Fates: Sendable, Equatable {
    package struct Count: Sendable, Equatable {
      /// Packets whose fate is known.
      package var expected: UInt64 = 0
      /// Of them, those that did not come.
      package var lost: UInt64 = 0

      package init(expected: UInt64 = 0, lost: UInt64 = 0) {
        self.expected = expected
        self.lost = lost
      }

      package var lossFraction: Double {
        expected == 0 ? 0 : min(1, Double(lost) / Double(expected))
      }
    }

    /// One direction. Sound counts where there is any: its packets come evenly.
    package struct Way: Sendable, Equatable {
      package var sound = Count()
      package var other = Count()

      package init() {}

      /// What was given up may come after all: then none was lost.
      func since(_ earlier: Way) -> Count {
        let sound = Self.difference(sound, earlier.sound)
        return sound.expected > 0 ? sound : Self.difference(other, earlier.other)
      }

      private static func difference(_ now: Count, _ earlier: Count) -> Count {
        Count(
          expected: now.expected - min(now.expected, earlier.expected),
          lost: now.lost - min(now.lost, earlier.lost))
      }
    }

    package var sent = Way()
    package var received = Way()
    /// Packets of any kind that the other side has reported.
    package var acknowledged: UInt64 = 0
    /// Packets of sound and pictures that have come.
    package var heard: UInt64 = 0

    package init() {}
  }

  /// As the other side measures it.
  var remoteJitterMs: Double { (audio?.remote?.jitter ?? 0) * 1000 }

  mutating func fillFates(with link: LinkStatistics, _ sound: AudioNumbers?) {
    let quality = link.quality
    fates.acknowledged = quality.packetsAcknowledged
    // Reports and pings say nothing of media that is not sent.
    if sent.packetsSent > 0 || (videoSent?.packetsSent ?? 0) > 0 {
      fates.sent.other = Fates.Count(
        expected: quality.packetsAcknowledged + quality.packetsLost, lost: quality.packetsLost)
    }
    fates.heard = link.media.packetsReceived
    if let video = link.video?.received {
      // Of those that came, those sent again were lost first.
      let own = UInt64(max(0, video.packetsReceived - video.retransmittedPacketsReceived))
      let lost = UInt64(video.packetsLost)
      fates.heard += UInt64(video.packetsReceived)
      fates.received.other = Fates.Count(expected: own + lost, lost: lost)
    }
    if fates.sent.other.expected > 0 { sent.lostFraction = fates.sent.other.lossFraction }
    guard let sound else { return }
    let remote = sound.account.remote
    if remote.framesExpected > 0 {
      sent.lostFraction = Double(remote.framesLost) / Double(remote.framesExpected)
    }
    fates.sent.sound = Fates.Count(expected: remote.framesExpected, lost: remote.framesLost)
    let report = sound.report
    fates.received.sound = Fates.Count(expected: report.framesExpected, lost: report.framesLost)
  }

  /// Grades both directions by the worst of loss before repair, round trip and jitter, over the
  /// whole call, outages included.
  mutating func grade() {
    qualityTx = grade(
      fates.sent, loss: fates.sent.other.lossFraction, jitterMs: remoteJitterMs)
    qualityRx = grade(
      fates.received, loss: received.lostFraction, jitterMs: received.jitterMs)
  }

  private func grade(_ way: Fates.Way, loss: Double, jitterMs: Double) -> Int {
    guard way.sound.expected > 0 || way.other.expected > 0 else { return 0 }
    let first = way.sound.expected > 0 ? way.sound : way.other
    return LineGrade.of(
      loss: max(first.lossFraction, loss), roundTripMs: rttMs?.p50 ?? 0, jitterMs: jitterMs
    ).rawValue
  }
}
