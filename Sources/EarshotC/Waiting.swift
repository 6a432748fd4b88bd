internal import CEarshot
internal import Earshot
internal import Primitives
internal import Reactor

/// What a function of C waits for, while a task does it.
private final class Outcome<Value: Sendable>: Sendable {
  private let state = Guarded(
    (value: Result<Value, EarshotError>?.none, isGivenUp: false))
  private let isThere: ThreadLatch

  init() throws(EarshotError) {
    do throws(ReactorError) {
      isThere = try ThreadLatch()
    } catch {
      throw EarshotError(
        .systemFailure, "There is nothing to wait with: \(error.reason).",
        advice: "Close some files, or raise the limit: ulimit -n")
    }
  }

  /// - Returns: `false` where nobody waits any more.
  func set(_ result: Result<Value, EarshotError>) -> Bool {
    let isWanted = state.withLock { state in
      state.value = result
      return !state.isGivenUp
    }
    isThere.open()
    return isWanted
  }

  func wait(_ seconds: Int) -> Result<Value, EarshotError> {
    _ = isThere.wait(.seconds(Int64(seconds)))
    let late = EarshotError(
      .systemFailure, "Nothing came of it within \(seconds) s.", advice: "Try again.")
    return state.withLock { state in
      state.isGivenUp = true
      return state.value ?? .failure(late)
    }
  }
}

/// Runs `body` in a task, and waits for it on the calling thread, which is none of Swift's own.
///
/// - Parameter late: gets what came when nobody waited any more.
func wait<Value: Sendable>(
  atMost seconds: Int = 15, _ body: @escaping @Sendable () async throws(EarshotError) -> Value,
  late: @escaping @Sendable (Value) async -> Void = { _ in }
) throws(EarshotError) -> Value {
  let outcome = try Outcome<Value>()
  Task.detached {
    do throws(EarshotError) {
      let value = try await body()
      if !outcome.set(.success(value)) { await late(value) }
    } catch {
      _ = outcome.set(.failure(error))
    }
  }
  return try outcome.wait(seconds).get()
}

/// What `body` came to, as a status; the sentence of a failure is kept for `earshot_error`.
func status(_ body: () throws(EarshotError) -> Void) -> Int32 {
  do throws(EarshotError) {
    try body()
    return 0
  } catch {
    unsafe error.description.withCString { unsafe earshot_set_error($0) }
    return Int32(status(of: error.code).rawValue)
  }
}

private func status(of code: EarshotError.Code) -> earshot_status {
  switch code {
  case .invalidArgument, .invalidAddress, .invalidName, .invalidCard, .contactUnknown:
    EARSHOT_BAD_ARGUMENT
  case .hostNotFound, .rendezvousUnreachable, .relayUnavailable: EARSHOT_UNREACHABLE
  case .notAllowed, .tokenNeeded, .tokenRefused, .tokenExpired, .tooManyPrograms, .nameTaken,
    .noMoreNames, .rendezvousFull, .identitySuperseded, .replacedElsewhere:
    EARSHOT_REFUSED
  case .identityChanged: EARSHOT_IDENTITY_CHANGED
  case .identityFileMode, .identityFileDamaged, .fileUnusable: EARSHOT_FILE
  case .addressInUse, .rendezvousNotUnderstood, .versionMismatch, .clockWrong, .callState,
    .channelState, .noPicture, .closed, .systemFailure:
    EARSHOT_FAILED
  }
}
