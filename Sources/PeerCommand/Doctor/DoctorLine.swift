package import Earshot
internal import Primitives
internal import Reactor

/// A diagnosis as one JSON object. What was not asked or not told is absent.
package enum DoctorLine {
  package static func text(_ diagnosis: NetworkDiagnosis) -> String {
    var object = JSONObject()
    object.add("type", "doctor")
    object.add("ts", Timestamp.text(wallNanoseconds: SystemClock.wallNanoseconds))
    object.add("sentence", diagnosis.sentence)
    object.add("host", host(diagnosis.host))
    if !diagnosis.sightings.isEmpty {
      object.add("rendezvous", .array(diagnosis.sightings.map { sighting($0).value }))
    }
    if !diagnosis.translators.isEmpty {
      object.add("translators", .array(diagnosis.translators.map { translator($0).value }))
    }
    object.add("portMapping", diagnosis.portMapping.map(portMapping))
    if !diagnosis.relays.isEmpty {
      object.add("relays", .array(diagnosis.relays.map { relay($0).value }))
    }
    if !diagnosis.channelRelays.isEmpty {
      object.add("channelRelays", .array(diagnosis.channelRelays.map { relay($0).value }))
    }
    object.add("findings", .array(diagnosis.findings.map { finding($0).value }))
    return object.value.text
  }

  private static func host(_ host: HostFacts) -> JSONObject {
    var object = JSONObject()
    object.add(
      "interfaces",
      .array(
        host.interfaces.map { interface in
          var entry = JSONObject()
          entry.add("name", interface.name)
          entry.add("address", interface.address.hostText)
          return entry.value
        }))
    object.add("routesIPv4", host.routesIPv4)
    object.add("routesIPv6", host.routesIPv6)
    object.add("realTime", host.grantsRealTime)
    object.add("locksMemory", host.locksMemory)
    object.add("lockedMemoryLimitBytes", host.lockedMemoryLimit)
    object.add("bufferWantedBytes", host.bufferWanted)
    object.add("receiveBufferBytes", host.receiveBuffer)
    object.add("sendBufferBytes", host.sendBuffer)
    object.add("kernel", host.kernel)
    object.add("codecs", .array(host.codecs.map(JSONValue.string)))
    object.add("cryptography", host.cryptography)
    object.add("protocolVersion", host.protocolVersion)
    object.add("programVersion", PeerProgram.version)
    return object
  }

  private static func sighting(_ sighting: RendezvousSighting) -> JSONObject {
    var object = JSONObject()
    object.add("name", sighting.name)
    object.add("address", sighting.address?.description)
    object.add("answered", sighting.isAnswered)
    object.add("local", sighting.local?.description)
    object.add("seenAs", sighting.seenAs?.description)
    if let second = sighting.second {
      var pair = JSONObject()
      pair.add("local", second.local.description)
      pair.add("seenAs", second.seenAs.description)
      object.add("secondSocket", pair)
    }
    object.add("rttMs", sighting.roundTripMs)
    object.add("clockOffsetMs", sighting.clockOffsetMs)
    object.add("clockUncertaintyMs", sighting.clockUncertaintyMs)
    object.add("uplinkEcn", sighting.uplinkECN?.rawValue)
    object.add("downlinkEcn", sighting.downlinkECN?.rawValue)
    if let trials = sighting.trials { object.add("line", line(trials)) }
    if let error = sighting.error {
      object.add("error", error.code.rawValue)
      object.add("reason", error.message)
    }
    return object
  }

  private static func line(_ trials: LineTrials) -> JSONObject {
    var object = JSONObject()
    object.add("filtering", trials.filtering?.rawValue)
    object.add("filteringUntested", trials.filteringUntested)
    object.add("hairpins", trials.hairpins)
    if let lifetime = trials.lifetime {
      object.add("lifetimeAtLeastS", lifetime.atLeastSeconds)
      object.add("lifetimeLessThanS", lifetime.lessThanSeconds)
    }
    object.add("lifetimeUntested", trials.lifetimeUntested)
    object.add("packetSizeUntested", trials.packetSizeUntested)
    object.add("largestUplinkPacket", trials.largestUplinkPacket)
    object.add("largestDownlinkPacket", trials.largestDownlinkPacket)
    return object
  }

  private static func relay(_ sighting: RelaySighting) -> JSONObject {
    var object = JSONObject()
    object.add("uri", sighting.uri)
    object.add("namedByRendezvous", sighting.isOffered)
    object.add("server", sighting.server?.description)
    object.add("relayed", sighting.relayed?.description)
    object.add("rttMs", sighting.roundTripMs)
    object.add("tookMs", sighting.tookMs)
    if let error = sighting.error {
      object.add("error", error.code.rawValue)
      object.add("reason", error.message)
    }
    return object
  }

  private static func translator(_ facts: TranslatorFacts) -> JSONObject {
    var object = JSONObject()
    object.add("family", facts.family == .v4 ? "ipv4" : "ipv6")
    object.add("translated", facts.mapping != .none)
    object.add("mapping", facts.mapping.rawValue)
    object.add("seenAs", facts.seenAs.description)
    object.add("portPreserved", facts.preservesPort)
    object.add("addressesPaired", facts.pairsAddresses)
    object.add("witnesses", facts.witnesses)
    return object
  }

  private static func finding(_ finding: Finding) -> JSONObject {
    var object = JSONObject()
    object.add("subject", finding.subject.rawValue)
    object.add("verdict", finding.verdict.rawValue)
    object.add("text", finding.text)
    object.add("remedy", finding.remedy)
    return object
  }
}
