import Primitives

/// Why a call was refused or ended, as the other side is told (docs/protocol/calling.md §2).
package enum CallReason: UInt8, CaseIterable, Sendable {
  case none = 0
  case declined = 1
  case busy = 2
  case notAllowed = 3
  case noAnswer = 4
  case userHungUp = 5
  case userCancelled = 6
  case noPath = 7
  case internalFailure = 8
  case shuttingDown = 9
  /// Both called each other, and the other call stands.
  case superseded = 10
  case identityChanged = 11
  /// Another program of the callee answered.
  case answeredElsewhere = 12
  /// The callee declined at another of its programs.
  case declinedElsewhere = 13

  /// A number that we do not know reads as "none": a hang-up is never ignored for its reason.
  package init(wire value: UInt8) { self = CallReason(rawValue: value) ?? .none }

  /// For people.
  package var sentence: String {
    switch self {
    case .none: "No reason was given."
    case .declined: "The call was declined."
    case .busy: "The line is busy with another call."
    case .notAllowed: "The call is not allowed, or the two sides have no audio codec in common."
    case .noAnswer: "Nobody answered in time."
    case .userHungUp: "The call was hung up."
    case .userCancelled: "The call was cancelled before it was connected."
    case .noPath: "No network path between the two sides carried packets."
    case .internalFailure: "Something failed inside the program."
    case .shuttingDown: "The program was shut down."
    case .superseded: "Both sides called each other at once, and the other call stands."
    case .identityChanged: "The other side's identity is not the one that is known by this name."
    case .answeredElsewhere: "Another program of the same identity answered the call."
    case .declinedElsewhere: "The call was declined at another program of the same identity."
    }
  }
}

/// Words that come with a reason: UTF-8, at most 128 bytes (docs/protocol/README.md §2, TLV 7).
package struct ReasonText: Hashable, Sendable, CustomStringConvertible {
  package static let maximumByteCount = 128
  package static let empty = ReasonText(clipping: "")

  /// As it goes over the wire: a MAC is over these bytes.
  package let wire: String

  /// Takes as many whole Unicode scalars of `text` as fit.
  package init(clipping text: String) {
    var kept = text
    while kept.utf8.count > Self.maximumByteCount { kept.unicodeScalars.removeLast() }
    wire = kept
  }

  /// For people: without what only gives orders to whoever shows it.
  package var description: String { Printable.only(wire) }

  package var isEmpty: Bool { wire.isEmpty }
}
