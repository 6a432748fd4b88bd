import Arguments
import Storage

/// From a command line and its configuration file to options; again at each SIGHUP.
extension ServeOptions {
  static func read(
    _ words: [String], environment: [String: String]
  ) throws(ServeError) -> ServeOptions {
    var fromFile: [String] = []
    if let path = try usage({ () throws(UsageError) in
      var arguments = Arguments(words)
      return try arguments.option("--config")
    }) {
      let text = try contents(of: path)
      fromFile = try usage { () throws(UsageError) in
        try ConfigFile.words(text, path: path, beside: words)
      }
    }
    return try usage { () throws(UsageError) in
      try ServeOptions(Arguments(fromFile + words), environment: environment)
    }
  }

  private static func usage<Result>(
    _ body: () throws(UsageError) -> Result
  ) throws(ServeError) -> Result {
    do throws(UsageError) { return try body() } catch { throw .usage(error) }
  }

  private static func contents(of path: String) throws(ServeError) -> String {
    let text: String?
    do throws(StorageError) { text = try TextFile.read(path) } catch { throw .file(error) }
    guard let text else { throw .unreadable(path: path, reason: "no such file") }
    return text
  }

  /// What SIGHUP reads again, as a person would name it; `nil` when there is nothing.
  var rereadFiles: String? {
    let files = [config, allow, requireToken, relayKey, nodes].compactMap { $0 }
    return files.isEmpty ? nil : files.joined(separator: ", ")
  }

  /// An option that is another in `fresh`, and that a running server cannot change.
  func firstToRestart(for fresh: ServeOptions) -> String? {
    if listen != fresh.listen { return "--listen" }
    if data != fresh.data { return "--data" }
    if metrics != fresh.metrics { return "--metrics" }
    if events != fresh.events { return "--events" }
    if relays != fresh.relays { return "--turn" }
    if relaySecret != fresh.relaySecret { return "--turn-secret" }
    if redis != fresh.redis { return "--redis" }
    if clientLimit != fresh.clientLimit { return "--limit-clients" }
    if channelHosts != fresh.channelHosts { return "--limit-channel-hosts" }
    if logsIdentities != fresh.logsIdentities { return "--log-identities" }
    return nil
  }
}
