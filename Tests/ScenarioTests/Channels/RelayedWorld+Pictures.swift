import GroupKeys
import Peer
import Primitives
import Video
import Wire

/// Pictures of a channel that goes by a relay.
extension RelayedWorld {
  static func pictures(
    sends: Bool, receives: Bool, hasLow: Bool = false, low: UInt32 = 100_000
  ) -> ChannelRelayMachine.PictureSettings {
    var video = VideoSettings()
    video.sends = sends
    if hasLow {
      video.small = SmallVideo(width: 320, height: 180, framesPerSecond: 15, bitsPerSecond: low)
    }
    return ChannelRelayMachine.PictureSettings(video, receives: receives)
  }

  /// A picture of so many bits a second at 30 pictures, if one is wanted now: bytes that tell whose
  /// and which.
  ///
  /// - Returns: `nil` while nobody wants one.
  func show(_ uid: UInt32, _ number: UInt16, bitsPerSecond: Int = 400_000) -> [UInt8]? {
    guard let member = member(uid), let size = PictureSize(width: 320, height: 180) else {
      return nil
    }
    if number % 2 == 0, !liars.contains(uid) { showLow(member, number, size) }
    guard
      let demand = member.machine.pictureDemand(now: now, ahead: .milliseconds(33))
    else { return nil }
    let place = member.pattern.place(isKeyFrame: demand.needsKeyFrame)
    let share = place.layer == 0 ? member.pattern.baseShare : member.pattern.upperShare
    let rate = liars.contains(uid) ? bitsPerSecond : min(bitsPerSecond, demand.bitsPerSecond)
    let byteCount = Int(Double(rate) / 240 * share)
    let picture =
      [UInt8(truncatingIfNeeded: uid), UInt8(truncatingIfNeeded: number), UInt8(number >> 8)]
      + Array(repeating: 9, count: max(1, demand.needsKeyFrame ? byteCount * 4 : byteCount))
    let isKey = demand.needsKeyFrame
    let frame = EncodedFrame(
      isKeyFrame: isKey, size: size, place: place, quantizer: 20,
      byteCount: picture.count)
    var bytes = picture
    let isSent = member.machine.sendPicture(
      frame, bytes: &bytes, mediaTime: UInt32(number) * 853, now: now)
    if isSent { member.pattern.advance(past: place) }
    drain(member)
    return isSent ? picture : nil
  }

  /// A picture of the low stream, if one is wanted: its bytes after the third are 8.
  private func showLow(_ member: Member, _ number: UInt16, _ size: PictureSize) {
    guard let demand = member.machine.lowPictureDemand(now: now), demand.bitsPerSecond > 0
    else { return }
    let place = member.lowPattern.place(isKeyFrame: demand.needsKeyFrame)
    let share = place.layer == 0 ? member.lowPattern.baseShare : member.lowPattern.upperShare
    let count = Int(Double(demand.bitsPerSecond) / 120 * share)
    var bytes =
      [
        UInt8(truncatingIfNeeded: member.uid), UInt8(truncatingIfNeeded: number),
        UInt8(number >> 8),
      ] + Array(repeating: 8, count: demand.needsKeyFrame ? count * 3 : count)
    var frame = EncodedFrame(
      isKeyFrame: demand.needsKeyFrame, size: size, place: place, quantizer: 20,
      byteCount: bytes.count)
    frame.stream = 1
    guard
      member.machine.sendPicture(frame, bytes: &bytes, mediaTime: UInt32(number) * 853, now: now)
    else { return }
    member.lowPattern.advance(past: place)
    member.lowCount += 1
    drain(member)
  }

  /// As `RelayedView` says it with each picture.
  func setTurn(_ uid: UInt32, _ turn: PictureRotation, at mediaTime: UInt32) {
    guard let member = member(uid) else { return }
    member.machine.setMedia(now: now) {
      ($0.quarters, $0.mediaTime) = (turn.rawValue, mediaTime)
    }
    drain(member)
  }

  /// Shows pictures of hosts, and lets them speak, for so long.
  ///
  /// - Parameter speakers: Those who speak, where not all do.
  /// - Returns: What each has shown.
  func broadcast(
    _ hosts: [UInt32], seconds: Int, from first: UInt16, bitsPerSecond: Int = 400_000,
    speakers: [UInt32]? = nil
  ) -> [UInt32: [[UInt8]]] {
    var shown: [UInt32: [[UInt8]]] = [:]
    let inOrder = hosts.sorted { (phases[$0] ?? .zero) < (phases[$1] ?? .zero) }
    for step in 0..<(seconds * 30) {
      let number = first &+ UInt16(step)
      let end = now + .microseconds(33_333)
      for host in inOrder {
        if let phase = phases[host] { run(end - .microseconds(33_333) + phase - now) }
        if let picture = show(host, number, bitsPerSecond: bitsPerSecond) {
          shown[host, default: []].append(picture)
        }
      }
      for host in speakers ?? hosts { speak(host, number &* 3, level: levels[host] ?? 20) }
      run(end - now)
    }
    run(.milliseconds(500))
    return shown
  }

  /// From now on packets take 8 to 12 ms, and of 1000 so many are lost.
  func vary(lost: Int = 0) {
    line = { _, _, random in
      random.unit() * 1000 < Double(lost) ? [] : [8 + Int(random.unit() * 5)]
    }
  }

  func watch(_ member: Member, _ uid: UInt32) {
    var bytes: [UInt8] = []
    while member.machine.pollPicture(of: uid, into: &bytes, now: now) != nil {
      member.seen[uid, default: []].append(bytes)
      member.seenAt[uid, default: []].append(now)
    }
  }
}
