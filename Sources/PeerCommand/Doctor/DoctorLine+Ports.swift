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
}
