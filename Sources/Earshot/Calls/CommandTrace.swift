internal import Wire

/// A command of the application that was carried out (`Endpoint.setTracing`).
public struct CommandTrace: Sendable, Equatable {
  /// The method's name with the names of its parameters.
  public var name: String
  /// The call that it was about, if it was about one.
  public var call: CallID?
  /// Why it was refused; `nil` = it was not.
  public var error: EarshotError?
}

/// Something that is not as it should be, and that the endpoint goes on from by itself.
public struct EndpointWarning: Sendable, Equatable {
  /// The kinds of warning.
  public enum Code: String, Sendable, CaseIterable {
    /// The rendezvous does not answer, or something is wrong with it; attempts go on.
    case rendezvousTrouble
    /// Nothing was heard of the other side for 4 s.
    case callInterrupted
    /// The audio of a call could not be started.
    case audioFailed
    /// The video of a call, or a part of it, does not work.
    case videoFailed
    /// The source of the own video gives nothing, or the same picture again and again.
    case captureFailure
    /// Music was started again too soon, or could not be.
    case audioMixingRefused
    /// A message was given up before it was delivered.
    case messageLost
  }

  /// What it is.
  public var code: Code
  /// The call that it is about, if it is about one.
  public var call: CallID?
  /// In words; never empty.
  public var message: String

  /// What of `event` is one; `nil` for others.
  init?(_ event: EndpointEvent) {
    switch event {
    case .registrationChanged(.reconnecting(.some(let error))):
      self.init(.rendezvousTrouble, nil, error.message)
    case .callProgress(let id, let step):
      guard let (code, message) = Self.warning(of: step) else { return nil }
      self.init(code, id, message)
    default: return nil
    }
  }

  private init(_ code: Code, _ call: CallID?, _ message: String) {
    self.code = code
    self.call = call
    self.message = message
  }

  private static func warning(of step: CallProgress) -> (Code, String)? {
    switch step {
    case .interrupted: (.callInterrupted, "Nothing was heard of the other side for 4 s.")
    case .audioFailed(let text): (.audioFailed, text)
    case .videoFailed(let text): (.videoFailed, text)
    case .streamChanged(let change) where change.reason == .captureFailure:
      change.stream == .localVideo
        ? (.captureFailure, "The source of the video gives no new picture.") : nil
    case .audioMixingChanged(let change) where change.state == .failed:
      (.audioMixingRefused, "Music was not started: \(change.reason.rawValue).")
    case .messageDelivery(let tag, delivered: false):
      (.messageLost, "Message \(tag) was given up.")
    default: nil
    }
  }
}

/// What goes with an own end of a call.
struct Farewell: Sendable {
  let reason: String
  let userExtension: String?
  /// What a refusal is for the caller.
  var refusal = CallReason.declined

  init(_ reason: String, _ userExtension: String?) {
    self.reason = reason
    self.userExtension = userExtension
  }

  /// A refusal of this program alone.
  static func leavingToOthers(_ reason: String) -> Farewell {
    var farewell = Farewell(reason, nil)
    farewell.refusal = .notAllowed
    return farewell
  }

  static let mostBytes = 1024

  /// - Throws: `invalidArgument` for user data that are too long.
  func check() throws(EarshotError) {
    guard let userExtension, userExtension.utf8.count > Self.mostBytes else { return }
    throw .invalidArgument(
      "The extension has \(userExtension.utf8.count) bytes.", advice: "Keep it to 1024.")
  }

  /// The user data, if they are not too long.
  var words: String? { userExtension.flatMap { $0.utf8.count <= Self.mostBytes ? $0 : nil } }
}
