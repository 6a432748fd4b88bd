internal import CEarshot
internal import Earshot
internal import EarshotMedia

/// Structures of earshot.h begin with their size: of a program that was built with fewer fields,
/// the rest is zero; fields that this library does not know are left alone.
func whole<Value: BitwiseCopyable>(
  _ given: UnsafePointer<Value>?, _ zero: Value
) throws(EarshotError) -> Value {
  guard let given = unsafe given else { return zero }
  let raw = unsafe UnsafeRawPointer(given)
  let size = unsafe Int(raw.load(as: UInt32.self))
  guard (4...65_536).contains(size) else {
    throw EarshotError(
      .invalidArgument, "A structure says that it has \(size) bytes.",
      advice: "Begin it with EARSHOT_INIT.")
  }
  var value = zero
  unsafe withUnsafeMutableBytes(of: &value) { bytes in
    unsafe bytes.copyMemory(
      from: UnsafeRawBufferPointer(start: raw, count: min(size, bytes.count)))
  }
  return value
}

func text(_ pointer: UnsafePointer<CChar>?) -> String? {
  unsafe pointer.map { unsafe String(cString: $0) }
}

func needed(_ pointer: UnsafePointer<CChar>?, _ name: String) throws(EarshotError) -> String {
  guard let text = unsafe text(pointer) else {
    throw EarshotError(.invalidArgument, "\(name) is NULL.", advice: "Give a text.")
  }
  return text
}

extension Configuration {
  init(_ options: earshot_options) throws(EarshotError) {
    self.init(rendezvous: try unsafe needed(options.rendezvous, "rendezvous"))
    unsafe identityFile = text(options.identity_file)
    isEphemeral = identityFile == nil
    unsafe name = text(options.name)
    unsafe token = text(options.token)
    if unsafe options.maximum_calls > 0 {
      let count = unsafe Int(options.maximum_calls)
      guard Configuration.callCounts.contains(count) else {
        throw EarshotError(
          .invalidArgument, "maximum_calls is \(count).", advice: "Give 1 to 32, or 0 for 1.")
      }
      maximumCalls = count
    }
  }
}

/// The options of one call, and the ends of its sound.
struct CallPlan: Sendable {
  let options: CallOptions
  let sound: CEndpoint.Sound

  init(_ given: UnsafePointer<earshot_call_options>?) throws(EarshotError) {
    let plan = try unsafe whole(given, earshot_call_options())
    let (rate, channels, heard) = unsafe (plan.send_rate, plan.send_channels, plan.receive_channels)
    guard heard == 0 || (1...2).contains(heard) else {
      throw EarshotError(
        .invalidArgument, "receive_channels is \(heard).", advice: "Give 1 or 2, or 0 for 1.")
    }
    let input = try PCMInput(
      rate: rate == 0 ? 48_000 : Int(rate), channels: channels == 0 ? 1 : Int(channels))
    sound = CEndpoint.Sound(input: input, output: SoundRing(channels: heard == 0 ? 1 : Int(heard)))
    var options = CallOptions(source: input, sink: sound.output)
    if unsafe plan.bitrate != 0 { options.bitrate = unsafe Int(plan.bitrate) }
    options.startsMuted = unsafe plan.starts_muted != 0
    options.userExtension = unsafe text(plan.user_data)
    self.options = options
  }
}
