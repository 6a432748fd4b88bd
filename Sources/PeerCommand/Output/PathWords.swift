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
    return object
  }

  private static func json(_ candidate: PathAttempt.Candidate) -> JSONObject {
    var object = JSONObject()
    object.add("kind", candidate.kind.rawValue)
    object.add("address", candidate.address.description)
    return object
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
