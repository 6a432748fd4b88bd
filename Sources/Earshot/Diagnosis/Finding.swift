/// One thing that was looked at, in plain words.
public struct Finding: Sendable, Equatable, CustomStringConvertible {
  /// How it stands.
  public enum Verdict: String, Sendable, CaseIterable {
    /// As it should be.
    case good
    /// It works, and could be better.
    case weak
    /// It is in the way of calls.
    case bad
    /// It was not asked, or cannot be told.
    case unknown
  }

  /// What was looked at.
  public enum Subject: String, Sendable, CaseIterable {
    /// Interfaces and their addresses.
    case addresses
    /// IPv4 and IPv6.
    case families
    /// Whether an address of the rendezvous answers.
    case rendezvous
    /// How the rendezvous sees this host.
    case translator
    /// From whom the translator lets packets in (RFC 4787 §5).
    case filtering
    /// Whether the router opens a port when it is asked (UPnP-IGD, NAT-PMP).
    case portMapping
    /// Whether sockets behind one translator reach each other by its address (RFC 4787 §6).
    case hairpin
    /// How long silence may last (RFC 4787 §4.3).
    case lifetime
    /// How long packets may be.
    case packetSize
    /// A TURN server, or an `earshot-relay`.
    case relay
    /// This host's clock.
    case clock
    /// The congestion field of IP (RFC 3168).
    case ecn
    /// Real-time threads.
    case realTime
    /// Memory for keys.
    case lockedMemory
    /// Socket buffers.
    case buffers
    /// Codecs and versions.
    case versions
  }

  /// What was looked at.
  public var subject: Subject
  /// How it stands.
  public var verdict: Verdict
  /// What was found.
  public var text: String
  /// What to do about it; `nil` where nothing is to be done.
  public var remedy: String?

  package init(
    _ subject: Subject, _ verdict: Verdict, _ text: String, remedy: String? = nil
  ) {
    self.subject = subject
    self.verdict = verdict
    self.text = text
    self.remedy = remedy
  }

  /// What was found, and what to do about it.
  public var description: String { remedy.map { "\(text) \($0)" } ?? text }
}

extension NetworkDiagnosis {
  /// Everything that was looked at, in plain words; each that is not good has its remedy.
  public var findings: [Finding] {
    host.reach + sightings.map(\.finding) + lineFindings + portFindings + host.resources
  }

  /// One sentence for all of it.
  public var sentence: String {
    let bad = findings.filter { $0.verdict == .bad }.count
    let weak = findings.filter { $0.verdict == .weak }.count
    if bad > 0 { return bad == 1 ? "One thing is in the way." : "\(bad) things are in the way." }
    let asked = sightings.isEmpty ? "Nothing on this host is in the way" : "Nothing is in the way"
    switch weak {
    case 0: return asked + "."
    case 1: return asked + "; one thing could be better."
    default: return asked + "; \(weak) things could be better."
    }
  }

  /// What is between this host and the rendezvous, or that nobody was asked.
  private var lineFindings: [Finding] {
    let tried = relays.isEmpty && channelRelays.isEmpty ? [] : relayFindings
    guard !sightings.isEmpty else {
      return [
        Finding(
          .rendezvous, .unknown,
          "UDP, the translator, the clock and ECN were not looked at: no rendezvous was named.",
          remedy: "Add --rendezvous HOST:PORT.")
      ] + tried
    }
    guard !isUnreachable else { return tried }
    return translators.map { $0.finding(opensPort: opensPort($0.family)) }
      + sightings.flatMap { sighting in
        sighting.trialFindings(opensPort: sighting.address.map { opensPort($0.family) } ?? false)
      }
      + sightings.compactMap(\.clockFinding).prefix(1)
      + sightings.compactMap(\.ecnFinding).prefix(1) + relayFindings
  }
}
