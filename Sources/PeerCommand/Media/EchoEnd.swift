package import Earshot
internal import Synchronization

/// The echo of `answer --echo`: what is heard is sent back after a while, and goes on to where it
/// is heard and saved.
package final class EchoEnd: AudioSource, AudioSink {
  package let channelCount: Int
  private let next: any AudioSink
  /// Mono, in a ring; the place that is written next lies `delay` after the one that is read.
  private let line: Mutex<Line>

  private struct Line {
    var samples: [Int16]
    var written: Int
    var read = 0
  }

  /// - Parameters:
  ///   - seconds: from hearing to sending.
  ///   - next: where what is heard goes on to; mono.
  package init(seconds: Double, next: any AudioSink) {
    self.next = next
    channelCount = next.channelCount
    let delay = Int(seconds * 48_000)
    // A second to spare: the two sides of a call need not take turns.
    line = Mutex(Line(samples: Array(repeating: 0, count: delay + 48_000), written: delay))
  }

  package func read(into samples: inout [Int16], frameCount: Int) -> Int {
    let channels = channelCount
    line.withLock { line in
      for frame in 0..<frameCount {
        // What was not heard yet is silence.
        let isThere = line.read < line.written
        let place = line.read % line.samples.count
        for channel in 0..<channels {
          samples[frame * channels + channel] = isThere ? line.samples[place] : 0
        }
        line.samples[place] = 0
        if isThere { line.read += 1 }
      }
    }
    return frameCount
  }

  package func write(_ samples: borrowing [Int16], frameCount: Int) {
    line.withLock { line in
      for frame in 0..<frameCount where line.written - line.read < line.samples.count {
        line.samples[line.written % line.samples.count] = samples[frame * channelCount]
        line.written += 1
      }
    }
    next.write(samples, frameCount: frameCount)
  }

  package func finish() { next.finish() }
}
