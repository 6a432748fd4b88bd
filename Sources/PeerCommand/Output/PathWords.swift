package import Earshot

/// What was tried where no path was found, for people and as JSON.
package enum PathWords {
  package static func rows(_ attempt: PathAttempt) -> [(title: String, text: String)] {
    var rows: [(title: String, text: String)] = [
      ("no path", attempt.sentence), ("to do", attempt.remedy),
    ]
    rows.append(("offered", attempt.own.map(words).joined(separator: ", ")))
    for (index, check) in attempt.checks.enumerated() {
      rows.append((index == 0 ? "tried" : "", "\(words(check.candidate)): \(fate(check))"))
    }
    let (own, peer) = (words(attempt.ownTranslator), words(attempt.peerTranslator))
    rows.append(("translator", "here: \(own); there: \(peer)"))
    rows.append(("relay", relay(attempt)))
    return rows.filter { !$0.text.isEmpty }
  }

  package static func json(_ attempt: PathAttempt) -> JSONObject {
    var object = JSONObject()
    object.add("cause", attempt.cause.rawValue)
    object.add("sentence", attempt.sentence)
    object.add("remedy", attempt.remedy)
    object.add("own", .array(attempt.own.map { json($0).value }))
    let checks = attempt.checks.map { check in
      var entry = json(check.candidate)
      entry.add("asked", check.asked)
      entry.add("answered", check.isAnswered)
      entry.add("hasAsked", check.hasAsked)
      return entry.value
    }
    object.add("checks", .array(checks))
    object.add("ownTranslator", attempt.ownTranslator.rawValue)
    object.add("peerTranslator", attempt.peerTranslator.rawValue)
    object.add("relay", attempt.relay.map(json))
    return object
  }

  private static func json(_ candidate: PathAttempt.Candidate) -> JSONObject {
    var object = JSONObject()
    object.add("kind", candidate.kind.rawValue)
    object.add("address", candidate.address.description)
    return object
  }

  private static func json(_ relay: RelayState) -> JSONObject {
    var object = JSONObject()
    switch relay {
    case .available(let address): object.add("address", address.description)
    case .unavailable(let error): object.add("message", error.message)
    }
    return object
  }

  private static func words(_ translator: PathAttempt.Translator) -> String {
    switch translator {
    case .unknown: "not known"
    case .none: "none"
    case .keepsPort: "one that keeps the port"
    case .changesPort: "one that changes the port"
    case .mapsEachDestination: "one that maps each destination anew"
    }
  }

  private static func relay(_ attempt: PathAttempt) -> String {
    switch attempt.relay {
    case .available(let address): "at \(address)"
    case .unavailable(let error): error.message
    case nil: "this side has no TURN server"
    }
  }

  private static func words(_ candidate: PathAttempt.Candidate) -> String {
    let kind =
      switch candidate.kind {
      case .host: "own"
      case .serverReflexive: "as the rendezvous sees it"
      case .peerReflexive: "as it was heard from"
      case .relayed: "of a relay"
      }
    return "\(candidate.address) (\(kind))"
  }

  private static func fate(_ check: PathAttempt.Check) -> String {
    let came = check.hasAsked ? ", and it asked from there" : ""
    guard check.asked > 0 else { return "not asked: no own address of its family\(came)" }
    let times = check.asked == 1 ? "once" : "\(check.asked) times"
    return "asked \(times), \(check.isAnswered ? "answered" : "no answer")\(came)"
  }
}
