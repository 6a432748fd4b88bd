import Earshot

extension DoctorLine {
  /// What the router said. Without `protocol` it opens no port.
  static func portMapping(_ facts: PortMappingFacts) -> JSONObject {
    var object = JSONObject()
    object.add("router", facts.router.hostText)
    object.add("protocol", facts.opened?.service.rawValue)
    object.add("external", facts.opened?.external.hostText)
    object.add("refusal", facts.refusal)
    return object
  }

  /// What an `earshot-relay` told. Without `error` members can use it.
  static func relay(_ sighting: ChannelRelaySighting) -> JSONObject {
    var object = JSONObject()
    object.add("name", sighting.name)
    object.add("namedByRendezvous", sighting.isOffered)
    object.add("address", sighting.address?.description)
    object.add("id", sighting.id.map { "\($0)" })
    object.add("tookMs", sighting.tookMs)
    if let error = sighting.error {
      object.add("error", error.code.rawValue)
      object.add("reason", error.message)
    }
    return object
  }
}
