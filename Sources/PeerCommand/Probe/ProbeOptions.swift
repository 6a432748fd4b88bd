package import Arguments
package import Earshot

/// What `earshot probe` is asked for, besides the options of every command that goes online.
package struct ProbeOptions: Sendable {
  package var online: OnlineOptions
  /// As given: an address, a name or an ID.
  package var target: String
  /// Whether it is a rendezvous: an address, with or without the ID that it must have.
  package var isRendezvous: Bool
  package var plan: ProbePlan
  /// Grades without a rate, one every two seconds.
  package var watches: Bool
  /// More than one probe.
  package var repetition: ProbeRepetition?
  /// A line for each probe.
  package var csv: String?
  /// A line for each test packet.
  package var packets: String?
  /// What this host's packets bear (RFC 2474).
  package var dscp: DSCP?
  /// Length of the parts of the test that are told one by one, in seconds.
  package var interval: Double?
  /// What the line must be fit for.
  package var required: LineUse?

  package init(
    _ arguments: consuming Arguments, variable: (String) -> String?
  ) throws(UsageError) {
    var arguments = arguments
    online = try OnlineOptions(&arguments, variable: variable)
    plan = try Self.plan(&arguments)
    watches = try arguments.flag("--watch")
    csv = try arguments.file("--csv")
    packets = try arguments.file("--packets")
    dscp = try arguments.option("--dscp").map(DSCP.init(parsing:))
    interval = try arguments.number("--interval", "seconds", in: 0.1...10)
    repetition = try Self.repetition(&arguments, watches, seconds: plan.seconds)
    guard packets == nil || repetition == nil else {
      throw UsageError(
        "--packets is for one probe.", advice: "Leave out --watch and --every, or use --csv.")
    }
    plan.keepsPackets = packets != nil
    required = try arguments.choice("--require", of: LineUse.allCases.map(\.rawValue))
      .flatMap(LineUse.init)
    let given = try arguments.positional("rendezvous, name, ID, link or card")
    target = try online.follow(given)
    try arguments.finish()
    let card = try OnlineOptions.card(target)
    isRendezvous = card == nil && Self.isAddress(target)
    if !isRendezvous { online.adoptRendezvous(of: target, card) }
    if !isRendezvous, card == nil, online.rendezvous.isEmpty {
      // Nobody is there who could know it as a name.
      isRendezvous = target.contains(".") || target == "localhost"
    }
    if card != nil {
      try online.requireRendezvous()
    } else if isRendezvous {
      target = try OnlineOptions.checked(target)
      online.rendezvous = target
    } else {
      try checkPeer(given)
    }
    if watches { plan.measuresBandwidth = false }
  }

  /// With a port, in brackets, or four numbers: no name is meant.
  private static func isAddress(_ text: String) -> Bool {
    text.contains(":") || SocketAddress("\(text):1") != nil
  }

  private static func plan(_ arguments: inout Arguments) throws(UsageError) -> ProbePlan {
    var plan = ProbePlan()
    let wantsUplink = try arguments.flag("--uplink")
    let wantsDownlink = try arguments.flag("--downlink")
    plan.probesUplink = wantsUplink || !wantsDownlink
    plan.probesDownlink = wantsDownlink || !wantsUplink
    if try arguments.flag("--both-at-once") {
      guard plan.probesUplink, plan.probesDownlink else {
        throw UsageError(
          "--both-at-once loads both directions.", advice: "Leave out --uplink or --downlink.")
      }
      plan.loading = .atOnce
    }
    let rates = ProbePlan.expectedRates
    plan.expectedUplink =
      try arguments.integer("--expected-uplink", "bits a second", in: rates) ?? plan.expectedUplink
    plan.expectedDownlink =
      try arguments.integer("--expected-downlink", "bits a second", in: rates)
      ?? plan.expectedDownlink
    plan.seconds =
      try arguments.number("--duration", "seconds", in: ProbePlan.secondRange) ?? plan.seconds
    return plan
  }

  private static func repetition(
    _ arguments: inout Arguments, _ watches: Bool, seconds: Double
  ) throws(UsageError) -> ProbeRepetition? {
    let total = try arguments.number("--for", "seconds", in: 1...2_678_400)
    let every = try arguments.number("--every", "seconds", in: 5...86_400)
    guard !watches || every == nil else {
      throw UsageError(
        "--watch and --every exclude each other.",
        advice: "--watch grades each 2 s and measures no rate; --every makes whole probes.")
    }
    guard watches || every != nil || total == nil else {
      throw UsageError(
        "--for needs --every or --watch.", advice: "Write --every 60s --for 24h.")
    }
    if let every, every < seconds + 1 {
      throw UsageError(
        "A probe of \(Figures.short(seconds)) s cannot begin every \(Figures.short(every)) s.",
        advice: "Give --every at least \(Figures.short(seconds + 1))s, or a shorter --duration.")
    }
    guard let period = watches ? 2 : every else { return nil }
    return ProbeRepetition(
      period: .milliseconds(Int64(period * 1000)),
      total: total.map { .milliseconds(Int64($0 * 1000)) })
  }

  /// Where a rendezvous will refuse some of the probes as they come too often for it.
  package var tooOften: String? {
    guard isRendezvous, !watches, let period = repetition?.period, period < .seconds(15) else {
      return nil
    }
    return "A rendezvous takes four probes of an identity at once, then one every 15 s: of those "
      + "in between it says that it is busy. Give --every 15s or more."
  }

  private func checkPeer(_ given: String) throws(UsageError) {
    guard OnlineOptions.isName(target) || PeerID(target) != nil else {
      throw UsageError(
        "'\(target)' is neither the address of a rendezvous nor a name or an ID.",
        advice: "Write HOST:PORT, a name of 1 to 63 of A-Z a-z 0-9 . _ -, or an ID of 52 letters.")
    }
    try online.requireRendezvous(for: given)
  }
}
