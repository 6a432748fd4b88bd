internal import Glibc

/// What is sent where no file is given: a calm run of bell notes, four seconds long and repeated.
///
/// -20 dBFS root mean square over the whole run; the same samples on every run of the program.
package struct TestTone: Sendable {
  package let channels = 1
  private let samples: [Int16]
  private var position = 0

  package init() {
    var run = [Double](repeating: 0, count: Self.noteHertz.count * Self.noteFrames)
    for (note, hertz) in Self.noteHertz.enumerated() {
      Self.strike(hertz, at: note * Self.noteFrames, in: &run)
    }
    let meanSquare = run.reduce(0) { $0 + $1 * $1 } / Double(run.count)
    let gain = 0.1 * 32_768 / meanSquare.squareRoot()
    samples = run.map { Int16(max(-32_768, min(32_767, ($0 * gain).rounded()))) }
  }

  /// Fills all of `output`, mono.
  @_lifetime(output: copy output)
  package mutating func read(into output: inout MutableSpan<Int16>) {
    for index in output.indices {
      output[index] = samples[position]
      position += 1
      if position == samples.count { position = 0 }
    }
  }

  /// Adds a note that fades; its end runs on over the start of the run, which thus has no seam.
  private static func strike(_ hertz: Double, at start: Int, in run: inout [Double]) {
    for frame in 0..<(2 * noteFrames) {
      let time = Double(frame) / 48_000
      let attack = min(1, time / 0.01)
      let release = min(1, Double(2 * noteFrames - frame) / 2400)
      let phase = 2 * Double.pi * hertz * time
      let voice = sin(phase) + 0.3 * sin(2 * phase) * exp(-3 * time)
      run[(start + frame) % run.count] += voice * attack * release * exp(-2.5 * time)
    }
  }

  /// G4 A4 C5 D5 E5 D5 C5 A4: half a second each.
  private static let noteHertz = [392.0, 440.0, 523.25, 587.33, 659.25, 587.33, 523.25, 440.0]
  private static let noteFrames = 24_000
}
