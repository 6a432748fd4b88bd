import Earshot

/// What Alice and Bob were told in a rehearsal, and what their commands gave.
struct Evidence {
  var steps: [EndpointEvent] = []
  var theirs: [EndpointEvent] = []
  var grade: LineReport?
  var hasSnapshot = false
  var refusal: EarshotError?

  /// A step of a call at Alice.
  func own(_ isWanted: (CallProgress) -> Bool) -> Bool { Self.contains(steps, isWanted) }
  /// The same at Bob.
  func other(_ isWanted: (CallProgress) -> Bool) -> Bool { Self.contains(theirs, isWanted) }
  func event(_ isWanted: (EndpointEvent) -> Bool) -> Bool { steps.contains(where: isWanted) }

  private static func contains(
    _ events: [EndpointEvent], _ isWanted: (CallProgress) -> Bool
  ) -> Bool {
    events.contains { if case .callProgress(_, let step) = $0 { isWanted(step) } else { false } }
  }

  /// A stream of a call entered a state at Alice.
  func stream(_ kind: StreamKind, _ state: StreamState) -> Bool {
    own {
      if case .streamChanged(let change) = $0 {
        change.stream == kind && change.new == state
      } else {
        false
      }
    }
  }

  func statistics(_ isWanted: (CallStatistics) -> Bool) -> Bool {
    event { if case .statistics(_, let numbers) = $0 { isWanted(numbers) } else { false } }
  }
}

/// One row of the table and how it is seen.
struct EventWitness: Sendable {
  let number: Int
  let name: String
  let isSeen: @Sendable (Evidence) -> Bool

  init(_ number: Int, _ name: String, _ isSeen: @escaping @Sendable (Evidence) -> Bool) {
    self.number = number
    self.name = name
    self.isSeen = isSeen
  }
}

extension EveryEventTests {
  static let witnesses = engine + media + numbers + sound

  private static let engine: [EventWitness] = [
    EventWitness(1, "warning") { $0.event { if case .warning = $0 { true } else { false } } },
    EventWitness(2, "error") { $0.refusal?.code == .callState },
    EventWitness(3, "trace") {
      $0.event { if case .commandDone(let command) = $0 { command.error == nil } else { false } }
    },
    EventWitness(4, "joined") {
      $0.event { if case .registrationChanged(.registered) = $0 { true } else { false } }
    },
    EventWitness(5, "rejoined") { $0.own { if case .rejoined = $0 { true } else { false } } },
    EventWitness(6, "left") { $0.event { if case .callEnded = $0 { true } else { false } } },
    EventWitness(7, "account") {
      $0.event {
        if case .registrationChanged(.registered(_, .granted)) = $0 { true } else { false }
      }
    },
    EventWitness(8, "user info") {
      $0.own { if case .answered(let who) = $0 { who.name == "bob" } else { false } }
    },
    EventWitness(11, "somebody joined") {
      $0.event {
        if case .callStateChanged(_, .connecting, .remoteAccepted) = $0 { true } else { false }
      }
    },
    EventWitness(12, "somebody left") {
      $0.event { if case .callStateChanged(_, .ended, .remoteHangUp) = $0 { true } else { false } }
    },
    EventWitness(13, "connection state") {
      $0.event { if case .callStateChanged(_, .connected, _) = $0 { true } else { false } }
    },
    EventWitness(15, "lost") { $0.own { $0 == .connectionLost } },
    EventWitness(16, "token ends") {
      $0.event { if case .tokenWillExpire = $0 { true } else { false } }
    },
    EventWitness(17, "token wanted") {
      $0.event {
        if case .registrationChanged(.failed(let error)) = $0 {
          error.code == .tokenExpired
        } else {
          false
        }
      }
    },
    EventWitness(41, "relay") {
      $0.own { if case .pathReady(.relayed, _) = $0 { true } else { false } }
    },
    EventWitness(70, "message") { $0.own { $0 == .message(stream: 9, [1, 2, 3]) } },
    EventWitness(71, "messages missed") {
      $0.own { $0 == .messagesMissed(stream: 9, missed: 2, cached: 1) }
    },
    EventWitness(73, "loaded") { !$0.steps.isEmpty },
    EventWitness(74, "media started") {
      $0.own { if case .mediaStarted = $0 { true } else { false } }
    },
  ]

  private static let media: [EventWitness] = [
    EventWitness(22, "first audio sent") { $0.own { $0 == .firstFrameSent } },
    EventWitness(23, "first own picture") {
      $0.own { if case .firstLocalVideoFrame = $0 { true } else { false } }
    },
    EventWitness(24, "first video sent") { $0.own { $0 == .firstVideoFrameSent } },
    EventWitness(25, "sizes and turns") {
      $0.own { if case .localVideoSizeChanged = $0 { true } else { false } }
        && $0.own { $0 == .localVideoRotated(.quarter) }
        && $0.other { $0 == .remoteVideoRotated(.quarter) }
        && $0.other { if case .remoteVideoSizeChanged = $0 { true } else { false } }
    },
    EventWitness(26, "remote video") {
      $0.stream(.remoteVideo, .starting) && $0.stream(.remoteVideo, .decoding)
        && $0.stream(.remoteVideo, .stopped)
    },
    EventWitness(30, "snapshot") { $0.hasSnapshot },
    EventWitness(31, "own video") {
      $0.stream(.localVideo, .capturing) && $0.stream(.localVideo, .encoding)
    },
    EventWitness(32, "remote audio") {
      $0.stream(.remoteAudio, .starting) && $0.stream(.remoteAudio, .decoding)
        && $0.stream(.remoteAudio, .stopped)
    },
    EventWitness(33, "own audio") {
      $0.stream(.localAudio, .capturing) && $0.stream(.localAudio, .encoding)
    },
    EventWitness(34, "first picture") {
      $0.own { if case .firstVideoFrameDecoded = $0 { true } else { false } }
    },
    EventWitness(35, "audio publish") {
      $0.stream(.audioPublish, .published) && $0.stream(.audioPublish, .notPublished)
    },
    EventWitness(36, "video publish") {
      $0.stream(.videoPublish, .published) && $0.stream(.videoPublish, .notPublished)
    },
    EventWitness(37, "audio subscribe") {
      $0.stream(.audioSubscribe, .subscribed) && $0.stream(.audioSubscribe, .notSubscribed)
    },
    EventWitness(38, "video subscribe") {
      $0.stream(.videoSubscribe, .subscribed) && $0.stream(.videoSubscribe, .notSubscribed)
    },
    EventWitness(39, "audio muted") {
      $0.other { $0 == .remoteAudioMuted(true) } && $0.other { $0 == .remoteAudioMuted(false) }
    },
    EventWitness(40, "video muted") {
      $0.other { $0 == .remoteVideoMuted(true) } && $0.other { $0 == .remoteVideoMuted(false) }
    },
    EventWitness(42, "video module") {
      $0.other { $0 == .remoteVideoEnabled(false) } && $0.other { $0 == .remoteVideoEnabled(true) }
    },
    EventWitness(43, "video capture") {
      $0.other { $0 == .remoteVideoCaptureEnabled(false) }
        && $0.other { $0 == .remoteVideoCaptureEnabled(true) }
    },
    EventWitness(44, "first picture decoded") {
      $0.other { if case .firstVideoFrameDecoded = $0 { true } else { false } }
    },
    EventWitness(45, "publish fallback") { $0.fellBack(.publish) },
    EventWitness(46, "subscribe fallback") { $0.fellBack(.subscribe) },
  ]

  private static let numbers: [EventWitness] = [
    EventWitness(52, "statistics") {
      $0.statistics { $0.totals.bytesSent > 0 && $0.interval != nil && $0.usage != nil }
    },
    EventWitness(53, "line grade") {
      $0.grade.map { (1...6).contains($0.rating.grade.rawValue) } == true
    },
    EventWitness(54, "network quality") {
      $0.statistics { $0.qualityTx > 0 && $0.remoteQualityTx != nil && $0.remoteQualityRx != nil }
    },
    EventWitness(57, "probe result") { $0.grade?.ending == .finished },
    EventWitness(58, "own video numbers") {
      $0.statistics { ($0.videoSent?.framesEncoded ?? 0) > 0 }
    },
    EventWitness(59, "own audio numbers") { $0.statistics { $0.sent.packetsSent > 0 } },
    EventWitness(60, "remote video numbers") {
      $0.statistics { ($0.videoReceived?.framesDecoded ?? 0) > 0 }
    },
    EventWitness(61, "remote audio numbers") { $0.statistics { $0.audio?.agora != nil } },
  ]

  private static let sound: [EventWitness] = [
    EventWitness(18, "volumes") {
      $0.event { if case .volumes(let report) = $0 { !report.isLocal } else { false } }
    },
    EventWitness(19, "pitch") {
      $0.event {
        if case .volumes(let report) = $0 {
          (report.speakers.first?.pitchHz ?? 0) > 0
        } else {
          false
        }
      }
    },
    EventWitness(21, "active speaker") {
      $0.event { if case .activeSpeakerChanged = $0 { true } else { false } }
    },
    EventWitness(62, "music ended") {
      $0.own { $0 == .audioMixingChanged(AudioMixingChange(.stopped, .allLoopsCompleted)) }
    },
    EventWitness(63, "music state") {
      $0.own { $0 == .audioMixingChanged(AudioMixingChange(.playing, .startedByUser)) }
    },
    EventWitness(64, "their music") { $0.other { $0 == .remoteAudioMixing(true) } },
    EventWitness(65, "their music ended") { $0.other { $0 == .remoteAudioMixing(false) } },
    EventWitness(66, "effect ended") { $0.own { $0 == .effectEnded(7) } },
  ]
}

extension Evidence {
  func fellBack(_ direction: FallbackChange.Direction) -> Bool {
    let changes = steps.compactMap { event -> Bool? in
      guard case .callProgress(_, .fallback(let change)) = event, change.direction == direction
      else { return nil }
      return change.isAudioOnly
    }
    return changes == [true, false]
  }
}
