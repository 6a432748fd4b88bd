internal import Peer
internal import Primitives
internal import Wire

/// What the application may ask to be told of its own commands.
extension Endpoint {
  /// Whether each command is told of when it was carried out (`EndpointEvent.commandDone`). Off
  /// unless asked for.
  public func setTracing(_ isOn: Bool) { readers.tracesCommands = isOn }

  /// Carries out a command of the application.
  func traced<Result: Sendable>(
    _ name: StaticString, _ id: CallID?,
    _ body: @Sendable (isolated Endpoint) throws(EarshotError) -> Result
  ) throws(EarshotError) -> Result {
    do throws(EarshotError) {
      let result = try body(self)
      if readers.tracesCommands { publish(.commandDone(CommandTrace("\(name)", id))) }
      return result
    } catch {
      if readers.tracesCommands { publish(.commandDone(CommandTrace("\(name)", id, error))) }
      throw error
    }
  }
}

extension CommandTrace {
  init(_ name: String, _ call: CallID?, _ error: EarshotError? = nil) {
    self.name = name
    self.call = call
    self.error = error
  }
}

extension CallMedia {
  /// What the options say of video from now on.
  func applyOptions(_ options: CallOptions) {
    video?.change { $0.applyOptions(options) }
    video?.wish.wantsSmall = options.remoteVideoStream == .low
  }
}
