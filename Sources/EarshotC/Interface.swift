public import CEarshot
internal import Earshot
internal import EarshotMedia
internal import LastMile
internal import Primitives

// The functions of earshot.h, in its order; what they do stands there.

/// The endpoint behind a handle.
private func object(_ handle: OpaquePointer?) throws(EarshotError) -> CEndpoint {
  guard let handle = unsafe handle else {
    throw EarshotError(.invalidArgument, "The endpoint is NULL.", advice: "Open one first.")
  }
  return unsafe Unmanaged<CEndpoint>.fromOpaque(UnsafeRawPointer(handle)).takeUnretainedValue()
}

private func sound(_ handle: OpaquePointer?, _ number: UInt64) -> CEndpoint.Sound? {
  guard let handle = unsafe handle else { return nil }
  return unsafe Unmanaged<CEndpoint>.fromOpaque(UnsafeRawPointer(handle)).takeUnretainedValue()
    .sound(number)
}

/// For `earshot_version` of earshot.h, which keeps it.
@_cdecl("earshot_fill_version")
public func fillVersion(_ room: UnsafeMutablePointer<CChar>, _ size: Int) {
  for (index, byte) in EarshotVersion.text.utf8CString.prefix(size).enumerated() {
    unsafe room[index] = byte
  }
}

/// `earshot_open` of earshot.h.
@_cdecl("earshot_open")
public func open(
  _ options: UnsafePointer<earshot_options>?, _ handler: earshot_event_handler?,
  _ context: UnsafeMutableRawPointer?, _ place: UnsafeMutablePointer<OpaquePointer?>?
) -> Int32 {
  status { () throws(EarshotError) in
    guard let place = unsafe place else {
      throw EarshotError(.invalidArgument, "There is no place for the endpoint.", advice: "")
    }
    let configuration = try unsafe Configuration(whole(options, earshot_options()))
    let (endpoint, events) = try wait { () async throws(EarshotError) in
      let endpoint = try await Endpoint.open(configuration)
      return (endpoint, await endpoint.events())
    } late: {
      await $0.0.close()
    }
    let made = CEndpoint(endpoint)
    // The handler may use it from its first event on.
    unsafe place.pointee = OpaquePointer(Unmanaged.passRetained(made).toOpaque())
    let owner = UInt(bitPattern: context)
    do throws(EarshotError) {
      try made.follow(events) { event, call in
        guard let handler = unsafe handler else { return }
        unsafe event.withC(call) { unsafe handler(UnsafeMutableRawPointer(bitPattern: owner), $0) }
      }
    } catch {
      unsafe place.pointee = nil
      unsafe Unmanaged.passUnretained(made).release()
      made.close()
      throw error
    }
  }
}

/// `earshot_wait_registered` of earshot.h.
@_cdecl("earshot_wait_registered")
public func waitRegistered(_ handle: OpaquePointer?) -> Int32 {
  status { () throws(EarshotError) in
    let endpoint = try unsafe object(handle).endpoint
    let name = try wait { () async throws(EarshotError) in
      try await endpoint.waitUntilRegistered()
    }
    if name == .taken {
      throw EarshotError(
        .nameTaken, "Another identity has the name.", advice: "Choose another name.")
    }
  }
}

/// `earshot_id` of earshot.h.
@_cdecl("earshot_id")
public func identity(_ handle: OpaquePointer?, _ room: UnsafeMutablePointer<CChar>?, _ size: Int)
  -> Int32
{
  status { () throws(EarshotError) in
    let bytes = try unsafe object(handle).endpoint.id.description.utf8CString
    guard let room = unsafe room, size > 0 else {
      throw EarshotError(.invalidArgument, "There is no room for the ID.", advice: "Give 53 bytes.")
    }
    unsafe room[0] = 0
    guard bytes.count <= size else {
      throw EarshotError(
        .invalidArgument, "The ID needs \(bytes.count) bytes.", advice: "Give as many.")
    }
    for (index, byte) in bytes.enumerated() { unsafe room[index] = byte }
  }
}

/// `earshot_dial` of earshot.h.
@_cdecl("earshot_dial")
public func dial(
  _ handle: OpaquePointer?, _ target: UnsafePointer<CChar>?,
  _ options: UnsafePointer<earshot_call_options>?, _ place: UnsafeMutablePointer<UInt64>?
) -> Int32 {
  status { () throws(EarshotError) in
    let made = try unsafe object(handle)
    let target = try unsafe needed(target, "target")
    let plan = try unsafe CallPlan(options)
    let endpoint = made.endpoint
    let call = try wait { () async throws(EarshotError) in
      try await endpoint.call(target, options: plan.options)
    }
    let number = made.number(of: call.id)
    made.keep(plan.sound, of: number)
    if let place = unsafe place { unsafe place.pointee = number }
  }
}

/// `earshot_accept` of earshot.h.
@_cdecl("earshot_accept")
public func accept(
  _ handle: OpaquePointer?, _ number: UInt64, _ options: UnsafePointer<earshot_call_options>?
) -> Int32 {
  status { () throws(EarshotError) in
    let made = try unsafe object(handle)
    let plan = try unsafe CallPlan(options)
    let call = try made.call(number)
    try wait { () async throws(EarshotError) in try await call.accept(plan.options) }
    made.keep(plan.sound, of: number)
  }
}

/// `earshot_reject` of earshot.h.
@_cdecl("earshot_reject")
public func reject(_ handle: OpaquePointer?, _ number: UInt64, _ reason: UnsafePointer<CChar>?)
  -> Int32
{
  let reason = unsafe text(reason) ?? ""
  return status { () throws(EarshotError) in
    let call = try unsafe object(handle).call(number)
    try wait { () async throws(EarshotError) in try await call.reject(reason: reason) }
  }
}

/// `earshot_hang_up` of earshot.h.
@_cdecl("earshot_hang_up")
public func hangUp(_ handle: OpaquePointer?, _ number: UInt64, _ reason: UnsafePointer<CChar>?)
  -> Int32
{
  let reason = unsafe text(reason) ?? ""
  return status { () throws(EarshotError) in
    let call = try unsafe object(handle).call(number)
    try wait { () async throws(EarshotError) in await call.hangUp(reason: reason) }
  }
}

/// `earshot_set_muted` of earshot.h.
@_cdecl("earshot_set_muted")
public func setMuted(_ handle: OpaquePointer?, _ number: UInt64, _ isMuted: Int32) -> Int32 {
  status { () throws(EarshotError) in
    let call = try unsafe object(handle).call(number)
    try wait { () async throws(EarshotError) in try await call.setAudioMuted(isMuted != 0) }
  }
}

/// `earshot_write` of earshot.h.
@_cdecl("earshot_write")
public func write(
  _ handle: OpaquePointer?, _ number: UInt64, _ samples: UnsafePointer<Int16>?, _ count: Int
) -> Int {
  guard let samples = unsafe samples, count > 0, let sound = unsafe sound(handle, number) else {
    return 0
  }
  return unsafe sound.input.push(UnsafeBufferPointer(start: samples, count: count).span)
}

/// `earshot_read` of earshot.h.
@_cdecl("earshot_read")
public func read(
  _ handle: OpaquePointer?, _ number: UInt64, _ samples: UnsafeMutablePointer<Int16>?, _ count: Int
) -> Int {
  guard let samples = unsafe samples, count > 0, let sound = unsafe sound(handle, number) else {
    return 0
  }
  var room = unsafe UnsafeMutableBufferPointer(start: samples, count: count).mutableSpan
  return sound.output.read(into: &room)
}

/// `earshot_send_message` of earshot.h.
@_cdecl("earshot_send_message")
public func sendMessage(
  _ handle: OpaquePointer?, _ number: UInt64, _ stream: UInt32, _ data: UnsafeRawPointer?,
  _ size: Int
) -> Int32 {
  status { () throws(EarshotError) in
    let call = try unsafe object(handle).call(number)
    guard size >= 0, unsafe size == 0 || data != nil else {
      throw EarshotError(.invalidArgument, "The message is NULL.", advice: "")
    }
    let bytes = unsafe Array(UnsafeRawBufferPointer(start: data, count: size))
    let stream = UInt8(clamping: stream)
    try wait { () async throws(EarshotError) in _ = try await call.send(bytes, stream: stream) }
  }
}

/// `earshot_probe` of earshot.h.
@_cdecl("earshot_probe")
public func probe(
  _ handle: OpaquePointer?, _ target: UnsafePointer<CChar>?, _ seconds: UInt32,
  _ place: UnsafeMutablePointer<earshot_probe_result>?
) -> Int32 {
  status { () throws(EarshotError) in
    let endpoint = try unsafe object(handle).endpoint
    let peer = unsafe text(target)
    var plan = ProbePlan()
    if seconds > 0 { plan.seconds = Double(seconds) }
    let (asked, limit) = (plan, Int(clamping: seconds == 0 ? 8 : seconds) + 12)
    let report = try wait(atMost: limit) { () async throws(EarshotError) -> LineReport? in
      let target = peer.map(ProbeTarget.peer) ?? .rendezvous
      return await (try endpoint.probe(target, plan: asked)).result()
    }
    guard let report, let place = unsafe place else { return }
    try unsafe fill(place, report)
  }
}

/// `earshot_close` of earshot.h.
@_cdecl("earshot_close")
public func close(_ handle: OpaquePointer?) {
  guard let handle = unsafe handle else { return }
  let made = unsafe Unmanaged<CEndpoint>.fromOpaque(UnsafeRawPointer(handle))
  unsafe made.takeRetainedValue().close()
}
