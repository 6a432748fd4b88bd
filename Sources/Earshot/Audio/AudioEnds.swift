/// Where a call's audio comes from. Stations 1 and 2 of the house tour (docs/ARCHITECTURE.md); next
/// is `Audio/Opus/OpusEncoder.swift`.
///
/// Called on the call's media thread, once a frame; must not block for longer than a frame.
public protocol AudioSource: AnyObject, Sendable {
  /// 1 mono, 2 stereo; constant.
  var channelCount: Int { get }
  /// Puts the next `frameCount` samples per channel, 48 kHz interleaved, at the front of `samples`.
  ///
  /// - Returns: How many samples per channel there were; fewer than asked for means the end.
  func read(into samples: inout [Int16], frameCount: Int) -> Int
}

/// Where the arrivals of a call go, so that it can be heard again (`CallReplay`). They hold the
/// audio itself: they are as private as the call.
///
/// Called on the call's media thread; must not block for longer than a frame.
public protocol ArrivalSink: AnyObject, Sendable {
  /// Takes the next bytes of the recording.
  func write(_ bytes: [UInt8])
  /// The call is over; comes once, and nothing after it. See `AudioSink.finish`.
  func finish()
}

/// Where the audio of the other side goes. The last station of the house tour.
///
/// Called on the call's media thread, gapless from the first second to the last, with 5 ms at a
/// time. Where nothing that may still come could change it, sound is given up to 15 ms early.
public protocol AudioSink: AnyObject, Sendable {
  /// 1 mono, 2 stereo; constant.
  var channelCount: Int { get }
  /// Takes the first `frameCount` samples per channel, 48 kHz interleaved, of `samples`.
  func write(_ samples: borrowing [Int16], frameCount: Int)
  /// The call is over. Comes once for each call that the sink was given to, however that call
  /// ended, also when nothing was ever heard; nothing comes after it. Called on the endpoint's
  /// event loop, before `EndpointEvent.callEnded`; must return soon.
  func finish()
}
