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
  /// A grade every two seconds, until a signal.
  package var watches: Bool
  /// What the line must be fit for.
  package var required: LineUse?

  package init(
    _ arguments: consuming Arguments, variable: (String) -> String?
  ) throws(UsageError) {
    var arguments = arguments
    try arguments.refuse(NotYet.options(of: .probe))
    online = try OnlineOptions(&arguments, variable: variable)
    plan = try Self.plan(&arguments)
    watches = try arguments.flag("--watch")
    required = try arguments.choice("--require", of: LineUse.allCases.map(\.rawValue))
      .flatMap(LineUse.init)
    target = try arguments.positional("rendezvous, name, ID or card")
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
      try checkPeer()
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
    let rates = ProbePlan.expectedRates
    plan.expectedUplink =
      try arguments.integer("--expected-uplink", "bits a second", in: rates) ?? plan.expectedUplink
    plan.expectedDownlink =
      try arguments.integer("--expected-downlink", "bits a second", in: rates)
      ?? plan.expectedDownlink
    plan.seconds =
      try arguments.number("--duration", "seconds", in: ProbePlan.durations) ?? plan.seconds
    return plan
  }

  private func checkPeer() throws(UsageError) {
    guard OnlineOptions.isName(target) || PeerID(target) != nil else {
      throw UsageError(
        "'\(target)' is neither the address of a rendezvous nor a name or an ID.",
        advice: "Write HOST:PORT, a name of 1 to 63 of A-Z a-z 0-9 . _ -, or an ID of 52 letters.")
    }
    try online.requireRendezvous()
  }
}
