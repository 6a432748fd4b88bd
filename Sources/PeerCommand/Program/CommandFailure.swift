package import Arguments
package import Earshot
package import MediaFiles
package import Reactor

/// What stopped a command: what is wrong, what to do about it, and the exit code.
package struct CommandFailure: Error, Equatable, Sendable {
  package var code: ExitCode
  package var message: String
  package var advice: String

  package init(_ code: ExitCode, _ message: String, advice: String = "") {
    self.code = code
    self.message = message
    self.advice = advice
  }

  package init(_ error: EarshotError) {
    self.init(ExitCode(error.code), error.message, advice: error.advice)
  }

  package init(_ error: UsageError) {
    self.init(.usage, error.message, advice: error.advice)
  }

  package init(_ error: MediaFileError) {
    self.init(.file, error.message, advice: error.advice)
  }

  /// A file of the program's own: a report, events.
  package init(file error: ReactorError) {
    if error.isAlreadyThere {
      self.init(MediaFileError.cannotCreate(error.subject, errorNumber: error.errno))
    } else {
      self.init(
        .file, "Cannot \(error.action) \(error.subject): \(error.reason).",
        advice: "Choose a place that exists and that you may write to.")
    }
  }

  /// What ended the writing of a file or stream in its middle.
  package init(unwritten name: String, _ error: ReactorError) {
    let message = "\(name) cannot be written to the end: \(error.reason)."
    if error.isWithoutReader {
      self.init(
        .file, "\(name) has no reader any more: \(error.reason).",
        advice: "Whatever it was piped into ended first, or closed it; the rest went nowhere.")
    } else if error.isOutOfRoom {
      self.init(.file, message, advice: "Make room (df -h); what was written before is kept.")
    } else if error.isOverFileLimit {
      self.init(.file, message, advice: "Raise the limit: ulimit -f unlimited")
    } else {
      self.init(.file, message)
    }
  }

  package init(system error: ReactorError) {
    self.init(.failed, "Cannot \(error.action) \(error.subject): \(error.reason).")
  }

  /// In the words of a call's outcome.
  package var outcome: String {
    switch code {
    case .unreachable: "unreachable"
    case .refused: "rejected"
    case .timeout: "timeout"
    case .interrupted: "cancelled"
    case .done, .failed, .usage, .quality, .identity, .file: "failed"
    }
  }

  /// Two lines for standard error; one when there is no advice.
  package var text: String {
    advice.isEmpty ? "earshot: \(message)" : "earshot: \(message)\n  \(advice)"
  }
}
