internal import Arguments
internal import LinkModel
internal import Primitives
internal import Reactor

/// From command line to exit code.
package enum LineProgram {
  static let usage = """
    usage: LineCommand --forward LISTEN=TARGET ... [--up SPEC] [--down SPEC] [--both SPEC]
           LineCommand --devices NEAR=FAR ... (root)

    Carries UDP between programs over a line of chosen quality, without root: inner programs send
    to LISTEN instead of to TARGET. All of them share the line. Prints one line of JSON when it
    listens, and one with its counts when it ends (SIGINT, SIGTERM).

      --forward LISTEN=TARGET   port 0 lets the system choose; repeatable
      --devices NEAR=FAR        makes two TUN devices, and carries every IP packet between them:
                                TCP and calls wait in one queue
      --up, --down, --both      KEY=VALUE,... ; up is from LISTEN to TARGET, or NEAR to FAR
          rate=1M               bits a second, IP headers included; 0 without limit  (default: 0)
          queue=200ms|30000B    tail drop                                    (default: 200ms)
          delay=30ms            one way                                      (default: 0)
          jitter=uniform:20ms|exponential:5ms|normal:8ms|none
          stall=2000ms:60ms         nothing comes for 60 ms, about every 2 s   (default: none)
          order=keep|free       whether jitter lets datagrams overtake       (default: keep)
          loss=5%|bursts:SHARE%:LENGTH|gilbert:P:R:GOOD:BAD|spells:CLEARms:LOSSYms:LOSS%|none
          reorder=1%:50ms       share held back, and for how long at most
          duplicate=1%  corrupt=1%
          trace=FILE            delivery opportunities of 1500 bytes (Mahimahi), instead of rate
          mark=5ms              ECN: CE for what waits longer
      --at SECONDS:up|down|both:SPEC   changes the line while it runs; repeatable
      --rebind-at S[,S...]      gives every program a new outer port
      --at-signal               the times above count from SIGUSR1, not from the start
      --log FILE                every datagram: when, which way, bytes, wait in the queue, fate
      --seed N                  (default: 1)
      --duration SECONDS        (default: until a signal)

    example: LineCommand --forward 127.0.0.1:7500=127.0.0.1:7400 \\
               --up rate=1M,delay=30ms,loss=2% --down rate=2M,delay=30ms
    """

  package static func run(_ words: [String]) -> Int32 {
    let arguments = Arguments(words)
    if arguments.wantsHelp {
      print(usage)
      return 0
    }
    do throws(UsageError) {
      let options = try LineOptions(arguments, readTrace: readTrace)
      return try carry(options)
    } catch {
      OutputFile.standardError.complain("LineCommand: \(error.message) \(error.advice)")
      return 2
    }
  }

  private static func readTrace(_ path: String) throws(UsageError) -> String {
    do throws(ReactorError) {
      let bytes = try ProcessSurroundings.contents(of: path, limit: 1 << 26)
      return String(decoding: bytes, as: UTF8.self)
    } catch {
      throw UsageError("Cannot read the trace \(path): \(error.reason).")
    }
  }

  private static func carry(_ options: LineOptions) throws(UsageError) -> Int32 {
    do throws(ReactorError) {
      let loop = try EventLoop()
      let relay = LineRelay(up: options.course.up, down: options.course.down, seed: options.seed)
      let line: any CarriedLine =
        if let pair = options.devices {
          try LineDevices(pair, relay, on: loop)
        } else {
          try LineProxy(options.forwards, relay, on: loop)
        }
      if let path = options.journal {
        line.journal = LineJournal(to: try OutputFile(creating: path))
      }
      let schedule = try LineSchedule(options, line, on: loop)
      let signals = try SignalWatch(on: loop) { signal in
        if signal == .user1 { schedule.begin() } else { loop.stop() }
      }
      OutputFile.standardOutput.complain(listening(line))
      loop.run()
      signals.stop()
      withExtendedLifetime(schedule) {}
      line.journal?.finish()
      OutputFile.standardOutput.complain(counts(line))
      return line.faults.isEmpty ? 0 : 1
    } catch {
      OutputFile.standardError.complain("LineCommand: \(error)")
      return 1
    }
  }

  package static func listening(_ line: any CarriedLine) -> String {
    let addresses = line.entrances.map { "\"\($0)\"" }.joined(separator: ",")
    return "{\"type\":\"listening\",\"addresses\":[\(addresses)]}"
  }

  package static func counts(_ line: any CarriedLine) -> String {
    func object(_ counters: SimulatedLink.Counters) -> String {
      "{\"offered\":\(counters.offered),\"lost\":\(counters.lost),"
        + "\"queueFull\":\(counters.queueFull),\"duplicated\":\(counters.duplicated),"
        + "\"reordered\":\(counters.reordered),\"corrupted\":\(counters.corrupted),"
        + "\"marked\":\(counters.marked)}"
    }
    return "{\"type\":\"counts\",\"up\":\(object(line.relay.up.counters)),"
      + "\"down\":\(object(line.relay.down.counters)),"
      + "\"lateMaxMicroseconds\":\(line.latest.nanoseconds / 1000),"
      + "\"rebindings\":\(line.rebindings),\"faults\":\(line.faults.count)}"
  }
}

extension OutputFile {
  /// A line, if anybody still reads.
  fileprivate func complain(_ text: String) {
    do throws(ReactorError) { try write(text + "\n") } catch {}
  }
}

extension LineJournal {
  /// What cannot be written is left out: the line goes on.
  fileprivate convenience init(to file: OutputFile) {
    self.init { text in
      do throws(ReactorError) { try file.write(text) } catch {}
    }
  }
}
