internal import Earshot
package import MediaFiles
package import Reactor
internal import Synchronization

/// Sound from another program, by a pipe, from the start of this program to the pipe's end; calls
/// read it one after the other.
package final class SoundInputPipe: Sendable {
  private let end: PipeEnd
  private let state: Mutex<State>

  private struct State: ~Copyable {
    var sound: PipedInput
    var bytes = [UInt8](repeating: 0, count: 4096)
    var hasEnded = false
  }

  /// Takes from `end` from now on, so that nothing grows old in it.
  package init(
    _ format: RawFormat, from end: PipeEnd = .standardInput
  ) throws(CommandFailure) {
    guard let sound = PipedInput(format) else {
      throw CommandFailure(.failed, "Sound of \(format.rateHz) Hz cannot be resampled.")
    }
    self.end = end
    state = Mutex(State(sound: sound))
    do throws(ReactorError) {
      try end.follow(named: "earshot-pipe") { [weak self] bytes, read in
        self?.handle(bytes, read) ?? false
      }
    } catch {
      throw CommandFailure(system: error)
    }
  }

  package var channelCount: Int { state.withLock { $0.sound.format.channels } }
  /// What spoilt it, in a sentence.
  package var fault: String? { state.withLock { $0.sound.fault } }

  /// A call begins.
  package func begin() { state.withLock { $0.sound.begin() } }

  /// See `PipedInput.read`.
  @_lifetime(room: copy room)
  package func read(into room: inout MutableSpan<Int16>) -> Int {
    let now = SystemClock.now
    return state.withLock { state in
      // What runs ahead of time has no thread any more.
      while state.sound.isAhead, !state.hasEnded, state.sound.room > 0 {
        let read = end.readNow(into: &state.bytes, limit: state.sound.room)
        if read == .nothing { break }
        Self.handle(state.bytes, read, in: &state)
      }
      return state.sound.read(into: &room, now: now)
    }
  }

  /// On the pipe's thread; whether it is to go on.
  private func handle(_ bytes: borrowing [UInt8], _ read: PipeEnd.Read) -> Bool {
    state.withLock { state in
      Self.handle(bytes, read, in: &state)
      return !state.sound.isAhead && !state.hasEnded
    }
  }

  private static func handle(
    _ bytes: borrowing [UInt8], _ read: PipeEnd.Read, in state: inout State
  ) {
    switch read {
    case .bytes(let count): state.sound.append(bytes, count: count, now: SystemClock.now)
    case .nothing: break
    case .end: state.sound.end()
    case .failed(let number):
      let reason = ReactorError("read", "standard input", errno: number).reason
      state.sound.end(fault: "Standard input cannot be read: \(reason).")
    }
    if read == .end || state.sound.fault != nil { state.hasEnded = true }
  }
}

/// Sound for another program, by a pipe.
struct SoundOutputPipe: ~Copyable {
  private let end: PipeEnd
  private var sound: PipedOutput

  /// `nil` for a number of channels that there is not.
  init?(channels: Int, to end: PipeEnd = .standardOutput) {
    guard let sound = PipedOutput(channels: channels) else { return nil }
    self.end = end
    self.sound = sound
  }

  /// Never waits: where nobody reads, sound is lost.
  mutating func write(
    _ samples: Span<Int16>, frameCount: Int
  ) throws(ReactorError) {
    sound.handle(samples, frameCount: frameCount, heldBytes: end.heldByteCount)
    guard sound.byteCount > 0 else { return }
    _ = try end.writeNow(sound.bytes, count: sound.byteCount)
  }
}
