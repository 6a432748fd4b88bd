internal import CEarshot
internal import Earshot
internal import LastMile

extension EventText {
  /// The event as a structure whose texts live while `body` runs.
  func withC(_ call: UInt64, _ body: (UnsafePointer<earshot_event>) -> Void) {
    var texts: [CChar] = []
    var places: [Int] = []
    for text in [name, reason, text, peer, peerName] {
      places.append(texts.count)
      texts += text.utf8CString
    }
    unsafe texts.withUnsafeBufferPointer { texts in
      guard let base = texts.baseAddress else { return }
      unsafe data.withUnsafeBytes { bytes in
        var event = unsafe earshot_event()
        unsafe event.size = UInt32(MemoryLayout<earshot_event>.size)
        unsafe event.kind = kind
        unsafe event.call = call
        unsafe event.name = base + places[0]
        unsafe event.reason = base + places[1]
        unsafe event.text = base + places[2]
        unsafe event.peer_id = base + places[3]
        unsafe event.peer_name = base + places[4]
        if !data.isEmpty { unsafe event.data = bytes.baseAddress }
        unsafe event.data_size = data.count
        unsafe event.stream = stream
        unsafe event.mos = numbers?.received.mos ?? 0
        unsafe event.rtt_ms = numbers?.currentRttMs ?? 0
        unsafe event.lost_fraction = numbers?.received.lostFraction ?? 0
        unsafe withUnsafePointer(to: event) { unsafe body($0) }
      }
    }
  }
}

/// What a probe found; as many fields as the program's structure has.
func fill(
  _ place: UnsafeMutablePointer<earshot_probe_result>, _ report: LineReport
) throws(EarshotError) {
  var result = try unsafe whole(UnsafePointer(place), earshot_probe_result())
  let size = min(Int(result.size), MemoryLayout<earshot_probe_result>.size)
  result.is_complete = report.ending == .finished ? 1 : 0
  result.rtt_ms = report.idleRoundTrip?.delay.p50Ms ?? 0
  result.uplink_bps = report.uplink?.bandwidth.map { Double($0.bitsPerSecond) } ?? 0
  result.downlink_bps = report.downlink?.bandwidth.map { Double($0.bitsPerSecond) } ?? 0
  result.uplink_lost = report.uplink?.loss?.share ?? 0
  result.downlink_lost = report.downlink?.loss?.share ?? 0
  unsafe withUnsafeBytes(of: result) { bytes in
    guard let from = bytes.baseAddress else { return }
    unsafe UnsafeMutableRawPointer(place).copyMemory(from: from, byteCount: size)
  }
}
