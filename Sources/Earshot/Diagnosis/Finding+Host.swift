import Primitives

extension HostFacts {
  /// The addresses and families.
  var reach: [Finding] {
    guard !interfaces.isEmpty else {
      return [
        Finding(
          .addresses, .bad, "No interface that is up has an address besides loopback.",
          remedy: "Connect this host to a network (ip address, nmcli).")
      ]
    }
    return [Finding(.addresses, .good, addressText), families]
  }

  /// "eth0 192.0.2.7 and 2001:db8::7; wlan0 198.51.100.3".
  private var addressText: String {
    var names: [String] = []
    for interface in interfaces where !names.contains(interface.name) {
      names.append(interface.name)
    }
    return names.map { name in
      let addresses = interfaces.filter { $0.name == name }.map(\.address.hostText)
      return "\(name) \(addresses.joined(separator: ", "))"
    }
    .joined(separator: "; ")
  }

  private var families: Finding {
    switch (routesIPv4, routesIPv6) {
    case (true, true): Finding(.families, .good, "IPv4 and IPv6 have a route to the internet.")
    case (true, false):
      Finding(
        .families, .weak, "IPv4 has a route to the internet, IPv6 has none.",
        remedy: "With IPv6 on both sides a call needs no translator: ask your provider for it.")
    case (false, true):
      Finding(
        .families, .weak, "IPv6 has a route to the internet, IPv4 has none.",
        remedy: "Peers that have only IPv4 cannot be reached: ask for IPv4, or call within IPv6.")
    case (false, false):
      Finding(
        .families, .weak, "Neither IPv4 nor IPv6 has a route to the internet.",
        remedy: "Calls reach hosts of the own networks only: set a default route for more.")
    }
  }

  /// What the kernel grants, and the versions.
  var resources: [Finding] { [realTime, memory, buffers, versions] }

  private var realTime: Finding {
    switch grantsRealTime {
    case true: return Finding(.realTime, .good, "The kernel grants real-time threads.")
    case false:
      return Finding(
        .realTime, .weak,
        "The kernel grants no real-time threads: on a busy host the sound waits for other "
          + "programs.",
        remedy: "Give the user real-time priorities: LimitRTPRIO=20 in its systemd unit, or "
          + "\"USER - rtprio 20\" in /etc/security/limits.conf.")
    case nil:
      return Finding(.realTime, .unknown, "Whether threads may run in real time is not known.")
    }
  }

  private var memory: Finding {
    let limit = lockedMemoryLimit.map { "\($0 / 1024) KiB" } ?? "no limit"
    guard locksMemory == false else {
      return Finding(.lockedMemory, .good, "Memory for keys can be locked (\(limit)).")
    }
    return Finding(
      .lockedMemory, .weak,
      "Memory for keys cannot be locked (\(limit)): keys may get into swap.",
      remedy: "Raise the limit: LimitMEMLOCK=1M in the systemd unit, or ulimit -l 1024.")
  }

  private var buffers: Finding {
    guard let receiveBuffer, let sendBuffer else {
      return Finding(.buffers, .unknown, "What socket buffers the kernel grants is not known.")
    }
    let granted = "\(receiveBuffer / 1024) KiB to receive and \(sendBuffer / 1024) KiB to send"
    guard min(receiveBuffer, sendBuffer) < bufferWanted else {
      return Finding(.buffers, .good, "The kernel grants socket buffers of \(granted).")
    }
    return Finding(
      .buffers, .weak,
      "The kernel grants socket buffers of \(granted); \(bufferWanted / 1024) KiB were asked for.",
      remedy: "Raise them: sysctl -w net.core.rmem_max=\(bufferWanted) "
        + "net.core.wmem_max=\(bufferWanted)")
  }

  private var versions: Finding {
    let program = ["earshot \(EarshotVersion.text)"]
    let parts = program + codecs + [cryptography, kernel, "protocol version \(protocolVersion)"]
    return Finding(.versions, .good, parts.filter { !$0.isEmpty }.joined(separator: ", "))
  }
}
