package import Earshot

/// What the live region of a call shows.
package struct CallView: Sendable {
  /// In a word or two: "ringing", "connected".
  package var state = ""
  /// Whom with.
  package var peer = ""
  /// Since it was connected, or since it began to ring.
  package var seconds = 0
  /// What is heard and what is played, in dB below full scale.
  package var heardLevel = -90.0
  package var playedLevel = -90.0
  package var isMuted = false
  package var isRemoteMuted = false
  /// Whether a picture is sent at all, and whether it is held back now.
  package var hasVideo = false
  package var isVideoMuted = false
  package var isRemoteVideoMuted = false
  /// The latest numbers.
  package var numbers: CallStatistics?
  /// How much of the file was played, 0...1, and how long it is in seconds.
  package var progress: (fraction: Double, seconds: Double)?
  /// What is waited for, in words.
  package var awaited: String?
  /// A question, or the keys there are.
  package var hint = ""

  package init() {}
}

/// Words and numbers for people.
package enum Wording {
  /// Who was called is not there yet.
  ///
  /// - Parameter sentence: Why, of `CallProgress.lookingAgain`.
  package static func lookingAgain(_ sentence: String) -> String {
    "\(sentence) Asking again ..."
  }

  /// `31.9 kbit/s`.
  package static func bitrate(_ bitsPerSecond: Double) -> String {
    "\(decimal(bitsPerSecond / 1000)) kbit/s"
  }

  /// `1.3 %, 0.1 % not repaired`; the second part only where something was lost.
  package static func lost(_ numbers: CallStatistics.Inbound) -> String {
    let raw = percent(numbers.lostFraction)
    guard numbers.packetsLost > 0 else { return raw }
    return "\(raw), \(percent(numbers.residualLostFraction)) not repaired"
  }

  package static func percent(_ fraction: Double) -> String { "\(decimal(fraction * 100)) %" }

  /// One decimal below a hundred, none above.
  package static func decimal(_ value: Double) -> String {
    guard value.isFinite, abs(value) < 1e9 else { return "-" }
    if abs(value) >= 100 { return String(Int(value.rounded())) }
    let tenths = Int((value * 10).rounded())
    return "\(tenths < 0 ? "-" : "")\(abs(tenths) / 10).\(abs(tenths) % 10)"
  }

  package static func milliseconds(_ value: Double) -> String { "\(decimal(value)) ms" }

  /// `45 s`, `3 min 20 s`.
  package static func duration(_ duration: Duration) -> String {
    let (minutes, seconds) = duration.components.seconds.quotientAndRemainder(dividingBy: 60)
    if minutes == 0 { return "\(seconds) s" }
    return seconds == 0 ? "\(minutes) min" : "\(minutes) min \(seconds) s"
  }

  /// `bob (ID, pinned)`: the ID is proven, and the name is worth what it rests on.
  package static func who(
    _ name: String?, _ id: PeerID, _ trust: Trust, _ nameTrust: NameTrust?
  ) -> String {
    guard let name else {
      let isKnown = trust == .pinned || trust == .verified
      return isKnown ? "\(short(id)) (\(trust.rawValue))" : "\(id)"
    }
    switch nameTrust {
    case .claimed, nil: return "Somebody who says that it is \(name) (\(id))"
    case .rendezvous: return "\(name) (by this rendezvous; \(id))"
    case .known: return "\(name) (\(short(id)), \(trust.rawValue))"
    }
  }

  /// The same of the other side of a call.
  package static func who(_ peer: CallPeer) -> String {
    who(peer.name, peer.id, peer.trust, peer.nameTrust)
  }

  /// Enough to tell two apart, where no decision hangs on it.
  package static func short(_ id: PeerID) -> String { id.shortText }

  /// The same of whoever calls.
  package static func who(_ call: IncomingCall) -> String {
    let who = who(call.name, call.peer, call.trust, call.nameTrust)
    return call.newName.map { "\(who), by this rendezvous \($0)" } ?? who
  }

  /// The same in a word or two: a name that is only claimed has a question mark.
  package static func name(_ call: IncomingCall) -> String {
    guard let name = call.name else { return "\(call.peer)" }
    return call.nameTrust == .claimed ? "\(name)?" : name
  }

  /// The same where it stands in each line: of a caller without a name the first of its ID.
  static func briefName(_ call: IncomingCall) -> String {
    call.name == nil ? short(call.peer) : name(call)
  }

  /// What a grade of 0...6 means.
  package static func grade(_ grade: Int) -> String {
    let words = ["unknown", "excellent", "good", "poor", "bad", "very bad", "down"]
    return words.indices.contains(grade) ? words[grade] : "unknown"
  }
}
