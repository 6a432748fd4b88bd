/// A command line that cannot be obeyed: what is wrong with it, and what to write instead.
package struct UsageError: Error, Equatable, Sendable, CustomStringConvertible {
  /// One sentence that names the offending argument.
  package var message: String
  /// What to do about it; empty when the message says it all.
  package var advice: String

  /// An error with its remedy.
  package init(_ message: String, advice: String = "") {
    self.message = message
    self.advice = advice
  }

  /// Both, one to a line.
  package var description: String { advice.isEmpty ? message : message + "\n" + advice }
}
