import Primitives
import Rendezvous
import Wire

/// What happens, as JSON Lines: without names, IDs and addresses unless asked for.
struct EventLines {
  let output: LineOutput
  let logsIdentities: Bool

  init(to output: LineOutput, logsIdentities: Bool, wallNanoseconds: UInt64) {
    self.output = output
    self.logsIdentities = logsIdentities
    output.write(
      JSONLine.make(
        "schema", wallNanoseconds: wallNanoseconds,
        [("schema", .text("earshot-rendezvous/1"))]))
  }

  func write(_ event: ServerEvent, wallNanoseconds: UInt64) {
    let (name, open, secret) = Self.fields(of: event)
    output.write(
      JSONLine.make(
        "event", wallNanoseconds: wallNanoseconds,
        [("name", .text(name))] + open + (logsIdentities ? secret : [])))
  }

  /// The event's name, what everybody may know of it, and what only `--log-identities` shows.
  private typealias Fields = [(String, JSONLine.Value)]

  private static func fields(of event: ServerEvent) -> (String, open: Fields, secret: Fields) {
    switch event {
    case .registered(let id, let name, let status, let source):
      var secret: Fields = [("id", .text("\(id)"))]
      if let name { secret.append(("peerName", .text("\(name)"))) }
      secret.append(("address", .text("\(source)")))
      return ("registered", [("status", .text("\(status)"))], secret)
    case .left(let id, let departure):
      return ("left", [("reason", .text(departure.rawValue))], [("id", .text("\(id)"))])
    case .moved(let id, let old, let new):
      return (
        "moved", [],
        [("id", .text("\(id)")), ("from", .text("\(old)")), ("to", .text("\(new)"))]
      )
    case .refused(let id, let refusal, let source):
      return (
        "refused", [("reason", .text("\(refusal)"))],
        [("id", .text("\(id)")), ("address", .text("\(source)"))]
      )
    case .forwarded(let from, let to, let byteCount):
      return (
        "forwarded", [("bytes", .number(byteCount))],
        [("from", .text("\(from)")), ("to", .text("\(to)"))]
      )
    case .forwardRefused(let from, let to, let status):
      return (
        "forwardRefused", [("reason", .text("\(status)"))],
        [("from", .text("\(from)")), ("to", .text("\(to)"))]
      )
    case .loadChanged(let isUnderLoad):
      return ("loadChanged", [("underLoad", .flag(isUnderLoad))], [])
    case .storeFailed(let failure):
      return ("storeFailed", [("reason", .text(failure.reason))], [])
    }
  }
}
