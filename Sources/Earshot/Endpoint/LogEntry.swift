internal import Primitives

/// What an endpoint says of itself in a line, for the log of an application
/// (`Configuration.logHandler`). It has the names, IDs and addresses that the application deals
/// with, and no content.
public struct LogEntry: Sendable, Equatable {
  /// How much it matters.
  public enum Level: String, Sendable, CaseIterable {
    /// A step of something under way.
    case debug
    /// Something began, ended or changed.
    case info
    /// Something is not as it should be, and goes on by itself.
    case warning
    /// Something ended that does not begin again by itself.
    case error
  }

  /// How much it matters.
  public var level: Level
  /// One line, of printable letters.
  public var message: String

  init(_ level: Level, _ message: String) {
    self.level = level
    self.message = Printable.only(message)
  }

  /// `nil` for what comes again and again: numbers and volumes.
  init?(_ event: EndpointEvent) {
    switch event {
    case .statistics, .volumes: return nil
    case .registrationChanged(let state): self.init(state)
    case .incomingCall(let call):
      self.init(.info, "call \(call.id): from \(call.name ?? "nobody by name"), \(call.peer)")
    case .callStateChanged(let id, let state, let reason):
      self.init(.info, "call \(id): \(state), \(reason)")
    // To find its name by reflection takes all of its 64 KiB.
    case .callProgress(let id, .message): self.init(.debug, "call \(id): message")
    case .callProgress(let id, let step):
      self.init(.debug, "call \(id): \(Self.name(of: step))")
    case .callEnded(let id, let report):
      self.init(.info, "call \(id): \(report.outcome.rawValue), \(report.reason)")
    case .warning(let warning):
      self.init(.warning, "\(warning.code.rawValue): \(warning.message)")
    case .tokenRefused(let error): self.init(.warning, "the access token: \(error.message)")
    case .channel(_, let step):
      self.init(.info, "channel: \(Self.name(of: step))")
    default: self.init(.debug, Self.name(of: event))
    }
  }

  private init(_ state: RegistrationState) {
    switch state {
    case .connecting: self.init(.debug, "looking for the rendezvous")
    case .registered(let seen, let name):
      self.init(.info, "registered, seen at \(seen), name \(name.rawValue)")
    case .reconnecting(let error):
      let reason = error.map { ": \($0.message)" } ?? ""
      self.init(.warning, "no contact with the rendezvous\(reason)")
    case .failed(let error): self.init(.error, "registration ended: \(error.message)")
    }
  }

  /// The case alone: what it holds may be long, and a peer's.
  private static func name(of value: some Any) -> String {
    String("\(value)".prefix { $0 != "(" })
  }
}
