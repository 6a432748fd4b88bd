import Earshot
import Foundation
import Primitives
import Reactor
import Testing

/// `Endpoint.probe` over real sockets on the loopback address.
@Suite(.serialized) struct ProbeTests {
  private func endpoint(_ rendezvous: LoopbackRendezvous, _ folder: URL) async throws -> Endpoint {
    var configuration = Configuration(rendezvous: rendezvous.address.description)
    configuration.bind = "127.0.0.1:0"
    configuration.identityFile = folder.appending(path: "identity").path
    return try await Endpoint.open(configuration)
  }

  private var folder: URL {
    FileManager.default.temporaryDirectory.appending(path: "earshot-\(UUID().uuidString)")
  }

  /// Delay and loss alone: a second.
  private static var short: ProbePlan {
    var plan = ProbePlan()
    plan.measuresBandwidth = false
    return plan
  }

  @Test(.timeLimit(.minutes(1)))
  func `a probe tells its phases, then its result, once`() async throws {
    let folder = folder
    defer { try? FileManager.default.removeItem(at: folder) }
    let rendezvous = try LoopbackRendezvous()
    let endpoint = try await endpoint(rendezvous, folder)
    let probe = try await endpoint.probe(plan: Self.short)
    var phases: [ProbePhase] = []
    var reports: [LineReport] = []
    for await step in probe.progress {
      switch step {
      case .phaseBegan(let phase): phases.append(phase)
      case .finished(let report): reports.append(report)
      case .progressed, .firstGrade: break
      }
    }
    #expect(phases.first == .asking && phases.contains(.idle) && reports.count == 1)
    let report = try #require(reports.first)
    #expect(report.ending == .finished && report.idleRoundTrip != nil)
    #expect(report.uplink?.ecn == .survived && report.downlink?.ecn == .survived)
    #expect(report.clock?.stamps == .kernel)
    #expect(report.path.mapping == PathFacts.Mapping.none)
    await endpoint.close()
    rendezvous.stop()
  }

  @Test(.timeLimit(.minutes(1)))
  func `a cancelled probe gives what it knows, and nothing after`() async throws {
    let folder = folder
    defer { try? FileManager.default.removeItem(at: folder) }
    let rendezvous = try LoopbackRendezvous()
    let endpoint = try await endpoint(rendezvous, folder)
    let probe = try await endpoint.probe()
    var last: LineReport?
    var finished = 0
    for await step in probe.progress {
      if case .phaseBegan(.ramp) = step {
        // Two at a time would disturb each other. This one has seconds to go, on a busy host too.
        await #expect(throws: EarshotError.self) { try await endpoint.probe(plan: Self.short) }
        await probe.cancel()
      }
      if case .finished(let report) = step {
        last = report
        finished += 1
      }
    }
    #expect(finished == 1 && last?.ending == .cancelled && last?.idleRoundTrip != nil)
    // Another one may begin at once, and is not disturbed by the first.
    let second = try await endpoint.probe(plan: Self.short)
    await probe.cancel()
    let result = try #require(await second.result())
    #expect(result.ending == .finished, "\(result.state) \(result.phases)")
    await endpoint.close()
    rendezvous.stop()
  }

  /// Goal: whoever waits for a result gets one, also where the rendezvous never answered.
  @Test(.timeLimit(.minutes(1)))
  func `a probe that waits for contact ends with its endpoint`() async throws {
    let silent = try UDPSocket(binding: SocketAddress(v4: 127, 0, 0, 1, port: 0))
    var configuration = Configuration(rendezvous: silent.localAddress.description)
    configuration.bind = "127.0.0.1:0"
    configuration.isEphemeral = true
    let endpoint = try await Endpoint.open(configuration)
    let probe = try await endpoint.probe()
    await endpoint.close()
    #expect(await probe.result()?.ending == .cancelled)
    await probe.cancel()
    #expect(silent.localAddress.port != 0)
  }
}
