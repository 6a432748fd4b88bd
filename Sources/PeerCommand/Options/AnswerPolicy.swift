package import Arguments

/// What `answer` does with a call that comes in.
package enum AnswerPolicy: Equatable, Sendable {
  case accept
  case reject(String)
  case ask

  /// `nil` where nothing is said and nobody can be asked.
  package init?(_ arguments: inout Arguments, isOnTerminal: Bool) throws(UsageError) {
    let accepts = try arguments.flag("--accept")
    let rejects = try arguments.option("--reject")
    let asks = try arguments.flag("--ask")
    let count = (accepts ? 1 : 0) + (rejects == nil ? 0 : 1) + (asks ? 1 : 0)
    guard count <= 1 else {
      throw UsageError("--accept, --reject and --ask exclude each other.")
    }
    if asks, !isOnTerminal {
      throw UsageError(
        "--ask needs a terminal for standard input.", advice: "Use --accept or --reject REASON.")
    }
    if let rejects {
      guard rejects.utf8.count <= 128 else {
        throw UsageError("The reason of --reject has more than 128 bytes.")
      }
      self = .reject(rejects)
    } else if accepts {
      self = .accept
    } else if asks || isOnTerminal {
      self = .ask
    } else {
      return nil
    }
  }

  package static var unsaid: UsageError {
    UsageError(
      "Without a terminal it must be said what becomes of a call.",
      advice: "Use --accept (everybody is heard at once) or --reject REASON.")
  }
}
