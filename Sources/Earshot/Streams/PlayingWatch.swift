internal import Audio
internal import Primitives

/// What the audio's thread tells the loop besides bodies.
enum AudioNote: Equatable, Sendable {
  /// The source gave fewer samples than it was asked for.
  case sourceEnded
  /// The other side is heard (again).
  case playing(isAfterSilence: Bool)
  /// Nothing of it could be heard for 500 ms.
  case frozen
}

/// Notes on their way to the loop, a few at most. Allocates nothing.
struct AudioNotes: Sendable {
  private var waiting = InlineArray<8, AudioNote>(repeating: .frozen)
  private var count = 0

  /// What finds no place is left out: the loop has not looked for seconds.
  mutating func add(_ note: AudioNote) {
    guard count < waiting.count else { return }
    waiting[count] = note
    count += 1
  }

  mutating func drain() -> [AudioNote] {
    guard count > 0 else { return [] }
    defer { count = 0 }
    return (0..<count).map { waiting[$0] }
  }
}

/// Notes when the other side begins and ceases to be heard, from what each pull of 5 ms did. Pure.
struct PlayingWatch {
  private var isPlaying = false
  /// Pulls in a row that gave nothing of the other side.
  private var emptyPulls = 0
  private var lastHeard: Instant?

  /// - Parameter isSilenced: the other side is muted, or not wanted.
  mutating func handlePull(
    _ operation: PlayoutOperation, isSilenced: Bool, now: Instant
  ) -> AudioNote? {
    guard !isSilenced else {
      isPlaying = false
      emptyPulls = 0
      return nil
    }
    switch operation {
    case .silence, .expand:
      emptyPulls += 1
      guard isPlaying, emptyPulls >= Self.frozenPulls else { return nil }
      isPlaying = false
      return .frozen
    case .normal, .accelerate, .preemptiveExpand, .forwardErrorCorrection, .merge:
      emptyPulls = 0
      let gap = lastHeard.map { now - $0 } ?? .zero
      lastHeard = now
      guard !isPlaying else { return nil }
      isPlaying = true
      return .playing(isAfterSilence: gap >= Self.silence)
    }
  }

  /// 500 ms, as of a picture that stands (`FreezeMeter`).
  private static let frozenPulls = 100
  /// A stream without a packet for so long has ended (docs/from-agora.md, 44 and 79).
  private static let silence = Duration.seconds(15)
}

/// A volume in per cent, applied to samples. What is too loud is cut off at full scale.
enum SampleGain {
  /// - Parameter percent: 0...400; 100 changes nothing.
  static func apply(_ percent: Int, to samples: inout [Int16]) {
    guard percent != 100 else { return }
    for index in samples.indices {
      let sample = Int(samples[index]) * percent / 100
      samples[index] = Int16(clamping: sample)
    }
  }
}
