package import Earshot
internal import MediaFiles
package import Reactor

/// What `call` and `answer` begin with: the files that are asked for, the endpoint, and the queue
/// of everything that happens.
package final class OnlineSession {
  package let options: OnlineOptions
  package let console: Console
  package let lines: JSONLines
  package let inbox: Inbox
  package let endpoint: Endpoint
  private let pcap: MediaPCAP?
  private let report: OutputFile?
  private var iterator: AsyncStream<Happening>.Iterator
  /// What could not be written or read on the way, in sentences.
  package private(set) var faults: [String] = []

  /// Opens the files first: a bad one stops the program before anybody is disturbed.
  package init(
    _ options: OnlineOptions, _ console: Console, on loop: EventLoop, readsKeys: Bool
  ) async throws(CommandFailure) {
    self.options = options
    self.console = console
    lines = JSONLines(to: try Self.lineOutputs(options))
    report = try options.report.map { path throws(CommandFailure) in try Self.create(path) }
    do throws(MediaFileError) {
      pcap = try options.pcap.map { path throws(MediaFileError) in try MediaPCAP(path) }
    } catch {
      throw CommandFailure(error)
    }
    do throws(ReactorError) {
      inbox = try Inbox(on: loop, readsKeys: readsKeys)
    } catch {
      throw CommandFailure(system: error)
    }
    iterator = inbox.happenings.makeAsyncIterator()
    do throws(EarshotError) {
      endpoint = try await Endpoint.open(options.configuration)
      let isRealTime = endpoint.hasRealTimeScheduling
      console.log(.debug, "network thread: \(isRealTime ? "real-time" : "ordinary") scheduling")
    } catch {
      throw CommandFailure(error)
    }
    await inbox.follow(endpoint)
    await endpoint.captureMedia(to: pcap)
  }

  private static func lineOutputs(_ options: OnlineOptions) throws(CommandFailure) -> [OutputFile] {
    var outputs: [OutputFile] = options.isJSON ? [.standardOutput] : []
    switch options.events {
    case nil: break
    case "-": if !options.isJSON { outputs.append(.standardOutput) }
    case .some(let path): outputs.append(try create(path))
    }
    return outputs
  }

  private static func create(_ path: String) throws(CommandFailure) -> OutputFile {
    do throws(ReactorError) {
      return try OutputFile(creating: path)
    } catch {
      throw CommandFailure(file: error)
    }
  }

  /// What happened next; events are written down on the way.
  package func next() async -> Happening? {
    let happening = await iterator.next(isolation: #isolation)
    if case .endpoint(let event) = happening {
      EventLine.write(event, to: lines)
      if case .callProgress(_, let step) = event { console.log(.debug, EventLine.name(of: step)) }
    }
    return happening
  }

  /// Waits until the rendezvous has answered, and says what became of the name.
  ///
  /// - Throws: Also when a signal came first.
  package func waitUntilRegistered() async throws(CommandFailure) -> RegistrationState.NameStatus {
    console.log(.info, "registering at \(options.rendezvous)")
    while let happening = await next() {
      switch happening {
      case .endpoint(.registrationChanged(.registered(_, let status))): return status
      case .endpoint(.registrationChanged(.failed(let error))):
        await endpoint.close()
        throw CommandFailure(error)
      case .signal(.interrupt), .signal(.terminate), .key("q"):
        await endpoint.close()
        throw CommandFailure(.interrupted, "Interrupted before the rendezvous had answered.")
      default: break
      }
    }
    throw CommandFailure(.failed, "The endpoint went away.")
  }

  package func remember(_ fault: String?) {
    if let fault { faults.append(fault) }
  }

  /// Says goodbye and closes the files.
  ///
  /// - Parameters:
  ///   - run: The last call, for the report page.
  ///   - code: What is returned unless a file failed.
  package func finish(_ run: CallRun?, _ code: ExitCode) async -> ExitCode {
    let page = run.flatMap { run in
      run.report.map { ReportPage.html($0, run.samples, prediction: run.prediction) }
    }
    return await finish(page: page, code)
  }

  /// The same with the report page as it is to be written.
  package func finish(page: String?, _ code: ExitCode) async -> ExitCode {
    await endpoint.captureMedia(to: nil)
    pcap?.finish()
    remember(pcap?.fault)
    if let report, let page { write(page, to: report) }
    await endpoint.close()
    for fault in faults + lines.faults {
      console.complain(CommandFailure(.file, fault, advice: Self.advice(on: fault)))
    }
    let isClean = faults.isEmpty && lines.faults.isEmpty
    return isClean || code != .done && code != .quality ? code : .file
  }

  /// What was being written may have needed room; the others say by themselves what to do.
  package static func advice(on fault: String) -> String {
    fault.contains("cannot be written") && !fault.contains("df -h") ? "Make room (df -h)." : ""
  }

  private func write(_ page: String, to report: OutputFile) {
    do throws(ReactorError) {
      try report.write(page)
    } catch {
      remember("\(report.name) cannot be written to the end: \(error.reason).")
    }
  }
}
