package import Forwarding

/// Text that Prometheus reads (exposition format 0.0.4), each metric with its help and its kind.
package struct MetricsText {
  /// The text so far.
  package private(set) var text = ""

  package init() {}

  /// A counter or a gauge with one value. A counter's name ends in `_total`.
  package mutating func add(_ name: String, _ help: String, _ value: UInt64) {
    add(name, help, rows: [("", String(value))])
  }

  /// A time in seconds.
  package mutating func add(_ name: String, _ help: String, nanoseconds: UInt64) {
    let fraction = String(nanoseconds % 1_000_000_000)
    let zeros = String(repeating: "0", count: 9 - fraction.count)
    add(name, help, rows: [("", "\(nanoseconds / 1_000_000_000).\(zeros)\(fraction)")])
  }

  /// One value for each value of a label.
  package mutating func add<Reason>(
    _ name: String, _ help: String, _ counts: ReasonCounts<Reason>
  ) {
    add(name, help, rows: counts.all.map { ("{reason=\"\($0.reason)\"}", String($0.count)) })
  }

  /// The version and the commit, as labels of a gauge that is always 1.
  ///
  /// - Parameter commit: Empty where it is not known; to Prometheus that is no label.
  package mutating func add(_ name: String, _ help: String, version: String, commit: String) {
    add(name, help, rows: [("{version=\"\(version)\",commit=\"\(commit)\"}", "1")])
  }

  private mutating func add(_ name: String, _ help: String, rows: [(label: String, String)]) {
    text += "# HELP \(name) \(help)\n# TYPE \(name) "
    text += name.hasSuffix("_total") ? "counter\n" : "gauge\n"
    for (label, value) in rows { text += "\(name)\(label) \(value)\n" }
  }
}

extension MetricsText {
  /// What a relay forwards, and how much there is now.
  package mutating func add(
    _ forwarding: ForwardingCounters?, _ gauges: ServerGauges, _ counters: ServerCounters
  ) {
    let prefix = "earshot_relay_"
    add(prefix + "sessions", "Sessions of members now.", UInt64(clamping: gauges.clients))
    add(prefix + "seats", "Seats taken now.", UInt64(clamping: gauges.seats))
    add(prefix + "channels", "Channels with seats.", UInt64(clamping: gauges.channels))
    for counter in forwarding?.all ?? [] {
      add(prefix + counter.name + "_total", counter.help, counter.value)
    }
    for counter in counters.all {
      add(prefix + counter.name + "_total", counter.help, counter.value)
    }
  }

  /// What a relay forwards for pairs.
  package mutating func add(_ pairs: PairCounters, pairCount: Int) {
    add("earshot_relay_pairs", "Pairs of which an end is bound.", UInt64(clamping: pairCount))
    for counter in pairs.all {
      add("earshot_relay_" + counter.name + "_total", counter.help, counter.value)
    }
  }

  /// What the machine counts, and how much there is now.
  package mutating func add(_ counters: ServerCounters, _ gauges: ServerGauges) {
    let prefix = "earshot_rendezvous_"
    add(prefix + "clients", "Clients registered now.", UInt64(clamping: gauges.clients))
    add(
      prefix + "unconfirmed_sessions", "Handshakes answered whose first packet has not come.",
      UInt64(clamping: gauges.unconfirmedSessions))
    add(
      prefix + "busy_clients", "Clients with something under way.",
      UInt64(clamping: gauges.busyClients))
    add(
      prefix + "reassembly_bytes", "Bytes of half-received messages.",
      UInt64(clamping: gauges.reassemblyByteCount))
    add(prefix + "channels", "Channels with members.", UInt64(clamping: gauges.channels))
    add(
      prefix + "channel_members", "Members of all channels.",
      UInt64(clamping: gauges.channelMembers))
    add(
      prefix + "endings_not_told_total",
      "Memberships that ended by a token or a newer stay, of which no relay was told: a limit.",
      gauges.endingsNotTold)
    add(prefix + "under_load", "Whether INITs need cookies.", gauges.isUnderLoad ? 1 : 0)
    for counter in counters.all {
      add(prefix + counter.name + "_total", counter.help, counter.value)
    }
    add(
      prefix + "initiations_dropped_total", "INIT packets dropped, by reason.",
      counters.initiationsDropped)
    add(
      prefix + "registrations_refused_total", "Registrations refused, by reason.",
      counters.registrationsRefused)
  }
}
