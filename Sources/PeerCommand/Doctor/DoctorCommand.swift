package import Arguments
package import Earshot
internal import Primitives
package import Reactor

/// `earshot doctor`: what this host has, and what is in the way of calls.
package struct DoctorCommand: Sendable {
  package var plan: DiagnosisPlan
  package var isJSON: Bool
  /// The file of the access token.
  private let token: String?

  package init(
    _ arguments: consuming Arguments, variable: (String) -> String?
  ) throws(UsageError) {
    var arguments = arguments
    var given = try arguments.options("--rendezvous")
    if given.isEmpty, let usual = variable("EARSHOT_RENDEZVOUS"), !usual.isEmpty {
      given = [usual]
    }
    plan = DiagnosisPlan(rendezvous: given)
    plan.identityFile = try arguments.file("--identity")
    token = try arguments.file("--token")
    plan.bind = try OnlineOptions.bind(&arguments) ?? plan.bind
    plan.measuresLifetime = try arguments.flag("--long")
    plan.relays = try OnlineOptions.relays(&arguments)
    plan.relayAuthorities = try arguments.file("--turn-ca")
    plan.channelRelays = try Self.channelRelays(&arguments)
    plan.mapsPort = !(try arguments.flag("--no-port-mapping"))
    isJSON = try arguments.flag("--json")
    try arguments.finish { word in
      OnlineOptions.isPlace(word) ? "Write --rendezvous \(word)." : ""
    }
    try Self.check(plan)
  }

  /// What listens where no port is said: as `earshot-relay` does.
  private static func channelRelays(
    _ arguments: inout Arguments
  ) throws(UsageError) -> [String] {
    var relays: [String] = []
    for text in try arguments.options("--relay") {
      relays.append(try OnlineOptions.checked(text, usual: 7500, of: "relay"))
    }
    guard relays.count <= DiagnosisPlan.mostRendezvous else {
      throw UsageError(
        "--relay was given \(relays.count) times.",
        advice: "Give it at most \(DiagnosisPlan.mostRendezvous) times.")
    }
    return relays
  }

  private static func check(_ plan: DiagnosisPlan) throws(UsageError) {
    let count = plan.rendezvous.count
    guard count <= DiagnosisPlan.mostRendezvous else {
      throw UsageError(
        "--rendezvous was given \(count) times.",
        advice: "Give it at most \(DiagnosisPlan.mostRendezvous) times.")
    }
    for rendezvous in plan.rendezvous { _ = try OnlineOptions.checked(rendezvous) }
    guard !plan.measuresLifetime || count > 0 else {
      throw UsageError(
        "--long needs a rendezvous.", advice: "Write --rendezvous HOST:PORT as well.")
    }
  }

  package func run(on loop: EventLoop) async throws(CommandFailure) -> ExitCode {
    let inbox: Inbox
    do throws(ReactorError) {
      inbox = try Inbox(on: loop, readsKeys: false)
    } catch {
      throw CommandFailure(system: error)
    }
    let examination = inbox.examine(try planWithToken())
    remind(inbox)
    for await input in inbox.inputs {
      switch input {
      case .diagnosed(.success(let diagnosis)) where !examination.isCancelled:
        show(diagnosis)
        return ExitCode(diagnosis)
      case .diagnosed(.failure(let error)) where !examination.isCancelled:
        throw CommandFailure(error)
      case .signal(.interrupt), .signal(.terminate), .signal(.hangUp):
        guard !examination.isCancelled else { throw Self.interrupted }
        examination.cancel()
        inbox.wake(at: SystemClock.now + Self.farewellPatience)
      case .diagnosed, .wake: throw Self.interrupted
      default: break
      }
    }
    throw CommandFailure(.failed, "The diagnosis went away.")
  }

  private func show(_ diagnosis: NetworkDiagnosis) {
    print(
      isJSON
        ? DoctorLine.text(diagnosis)
        : LineWrap.fitted(DoctorText.text(diagnosis, columns: LineWrap.columns())))
  }

  private static let interrupted = CommandFailure(
    .interrupted, "Interrupted before the diagnosis was done.")
  /// For a port that the router has opened, which is given back, and for what else is open. A
  /// second signal is not waited for.
  private static let farewellPatience = Duration.milliseconds(1_500)

  private func planWithToken() throws(CommandFailure) -> DiagnosisPlan {
    var plan = plan
    do throws(EarshotError) {
      plan.token = try token.map { path throws(EarshotError) in try TokenIssuer.token(at: path) }
    } catch {
      throw CommandFailure(error)
    }
    return plan
  }

  /// Nobody waits without being told for what.
  private func remind(_ inbox: Inbox) {
    let asked = plan.rendezvous + plan.channelRelays
    guard !asked.isEmpty else { return }
    let console = Console(isJSON: isJSON, isQuiet: false)
    let places = asked.joined(separator: ", ")
    let length = plan.measuresLifetime ? "; --long takes two to four minutes" : ""
    do throws(ReactorError) {
      try inbox.remind(after: .seconds(1)) {
        console.announceWait("waiting for what \(places) says\(length)")
      }
    } catch {
      return  // The diagnosis comes without it.
    }
  }
}

extension ExitCode {
  /// What a diagnosis found: whether calls can be made from here at all. That something could be
  /// better, or stands in the way of some calls, is no failure.
  package init(_ diagnosis: NetworkDiagnosis) {
    if diagnosis.host.interfaces.isEmpty, diagnosis.sightings.isEmpty {
      self = .unreachable
    } else if diagnosis.sightings.contains(where: \.isWithoutFault) {
      self = .done
    } else if let error = diagnosis.sightings.first?.error {
      self = ExitCode(error.code)
    } else if let error = diagnosis.relayError {
      self = error.code == .relayUnavailable ? .unreachable : ExitCode(error.code)
    } else {
      self = .done
    }
  }
}

extension RendezvousSighting {
  fileprivate var isWithoutFault: Bool { isAnswered && error == nil }
}

extension NetworkDiagnosis {
  /// Where only relays were asked, and none can be used.
  fileprivate var relayError: EarshotError? {
    guard sightings.isEmpty, !channelRelays.contains(where: { $0.error == nil }) else { return nil }
    return channelRelays.first?.error
  }
}
