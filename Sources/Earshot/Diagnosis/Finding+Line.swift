import LastMile
import Primitives

extension RendezvousSighting {
  /// Whether it answers.
  var finding: Finding {
    let place = address.map { "\($0)" } ?? name
    if let error, !isAnswered {
      return Finding(.rendezvous, .bad, error.message, remedy: silenceRemedy(error))
    }
    if let error {
      return Finding(
        .rendezvous, .bad, "UDP to \(place) works. \(error.message)", remedy: error.advice)
    }
    let trip = roundTripMs.map { ", round trip \(Figures.delay($0))" } ?? ""
    return Finding(.rendezvous, .good, "UDP to \(place) works\(trip).")
  }

  /// A server that is not there and a firewall that drops UDP look the same from here.
  private func silenceRemedy(_ error: EarshotError) -> String {
    guard let address, error == .rendezvousUnreachable(address) else { return error.advice }
    return "Check on its host that earshot-rendezvous runs and listens there. If it does, a "
      + "firewall drops UDP: let this host send to UDP port \(address.port) and be answered."
  }

  /// The clock; `nil` where it did not tell.
  var clockFinding: Finding? {
    guard let offset = clockOffsetMs, let uncertainty = clockUncertaintyMs else { return nil }
    let difference = ClockDifference(offset: .microseconds(Int64((offset * 1000).rounded())))
    let text = "\(difference.sentence) (± \(Figures.milliseconds(uncertainty)))."
    if abs(offset) <= uncertainty || abs(offset) < Self.smallOffsetMs {
      return Finding(.clock, .good, text)
    }
    return Finding(
      .clock, .weak, difference.isLarge ? "\(text) Calls work by the rendezvous' time." : text,
      remedy: "Let the time be set by itself (timedatectl set-ntp true), here or there.")
  }

  /// What became of the ECN field; `nil` where it was not measured.
  var ecnFinding: Finding? {
    guard uplinkECN != nil || downlinkECN != nil else { return nil }
    let ways = [("out", uplinkECN), ("in", downlinkECN)].compactMap { way, fate in
      fate.map { "\($0.rawValue) on the way \(way)" }
    }
    let text = "The ECN field: \(ways.joined(separator: ", "))."
    guard uplinkECN == .bleached || downlinkECN == .bleached else {
      return Finding(.ecn, .good, text)
    }
    return Finding(
      .ecn, .weak, text,
      remedy: "Something on the way clears it: queues must drop packets where they could mark "
        + "them. Calls work; tell whoever runs that router.")
  }

  /// Less than people notice in logs, in ms.
  private static let smallOffsetMs = 1000.0
}

extension TranslatorFacts {
  /// How others see this host, and what that means for calls.
  ///
  /// - Parameter opensPort: Whether the router lets everybody in when it is asked.
  func finding(opensPort: Bool) -> Finding {
    let name = family == .v4 ? "IPv4" : "IPv6"
    let ports = preservesPort ? "it keeps the port" : "it changes the port"
    let pairs = pairsAddresses == false ? ", and gives sockets different addresses" : ""
    let seen = "\(name): a translator shows this host as \(seenAs.hostText); \(ports)\(pairs)"
    switch mapping {
    case .none:
      return Finding(.translator, .good, "\(name): no translator; others see \(seenAs.hostText).")
    case .endpointIndependent:
      return Finding(
        .translator, .good,
        "\(seen). It maps each socket alike for every destination (\(mapping.rawValue)).")
    case .dependent where opensPort, .addressAndPortDependent where opensPort:
      return Finding(
        .translator, .good,
        "\(seen). It maps each socket anew for each destination (\(mapping.rawValue)), but the "
          + "router opens a port, at which everybody reaches this host.")
    case .dependent, .addressAndPortDependent:
      return Finding(
        .translator, .bad,
        "\(seen). It maps each socket anew for each destination (\(mapping.rawValue)): peers that "
          + "filter by port cannot be reached.",
        remedy: "Forward a UDP port of the router to this host and pass --bind with that port, or "
          + "have the other side do so, or use IPv6 on both sides.")
    case .translated:
      return Finding(
        .translator, .unknown,
        "\(seen). How it maps for other destinations, \(witnessText) cannot tell.",
        remedy: "Add a second --rendezvous at another address.")
    }
  }

  private var witnessText: String {
    witnesses == 1 ? "one address of a rendezvous" : "\(witnesses) ports of one address"
  }
}
