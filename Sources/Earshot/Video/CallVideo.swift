internal import Primitives
internal import Reactor

/// A call's video: one thread that encodes, one that decodes, and what they share with the loop.
final class CallVideo: Sendable {
  let rings: VideoRings
  let expectation = VideoReceiving.Expectation()
  /// From one picture of the source to the next.
  let pictureInterval: Duration
  private let sender: MediaWorker?
  private let receiver: PromptWorker?
  private let receiving: Guarded<VideoReceiving>?

  /// Begins at once.
  ///
  /// - Parameters:
  ///   - audio: whose media time the pictures keep to.
  ///   - turns: of the other side's pictures.
  init(
    _ options: CallOptions, audio: AudioRings, turns: Guarded<PictureTurns>, wake: LoopWake
  ) throws(ReactorError) {
    let rings = VideoRings(wake: wake)
    self.rings = rings
    if let sink = options.videoSink {
      let clocks = VideoReceiving.Clocks(
        heard: audio.heardClock, recording: audio.sentClock, expects: expectation,
        hold: audio.pictureHold, turns: turns)
      let receiving = Guarded(VideoReceiving(sink, clocks: clocks, rings: rings))
      self.receiving = receiving
      receiver = try PromptWorker(named: "earshot-decode") { now in
        receiving.withLock { $0.run(now: now) }
      }
    } else {
      receiving = nil
      receiver = nil
    }
    let rate = min(max(options.videoSource?.framesPerSecond ?? 30, 1), 60)
    pictureInterval = .nanoseconds(Int64((1e9 / rate).rounded()))
    guard let source = options.videoSource else {
      sender = nil
      return
    }
    var worker = MediaWorker.Options()
    worker.name = "earshot-video"
    worker.period = pictureInterval
    worker.catchUpLimit = 1
    // Late pictures are left out; late sound is heard.
    worker.wantsRealTime = false
    let sending = Guarded(VideoSending(source, clock: audio.sentClock, rings: rings))
    sender = try MediaWorker(worker) { tick in
      sending.withLock { $0.tick(now: tick.now, due: tick.due) }
    }
  }

  /// Frames were put into the inbox.
  func signalArrival() { receiver?.signal() }

  /// Whether somebody takes what comes.
  var isReceiving: Bool { receiver != nil }
  var isSending: Bool { sender != nil }

  /// Pictures that were left out because the thread came too late for them.
  var skippedTicks: UInt64 { sender?.skippedTicks ?? 0 }

  /// Ends the threads and lets the sink close its file. Harmless when repeated.
  func stop() {
    sender?.stop()
    receiver?.stop()
    sender?.join()
    receiver?.join()
    receiving?.withLock { $0.finish() }
  }
}
