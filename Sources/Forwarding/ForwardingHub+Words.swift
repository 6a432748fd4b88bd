package import Primitives
import Tokens
import Wire

/// Keys and cards, which members send and ask for (docs/protocol/relay.md §3).
extension ForwardingHub {
  func pass(_ bytes: Span<UInt8>, to uid: UInt32, from seat: Seat, now: Instant) {
    guard
      seat.claim.role == .host || bytes.count <= limits.audienceKeyByteCount,
      seat.meters.keys.admit(perSecond: limits.keysPerSecond, burst: limits.keyBurst, now: now)
    else { return counters.tooMany &+= 1 }
    guard let other = seat.room.seat(of: uid), other !== seat else {
      return counters.wordsUndeliverable &+= 1
    }
    var copy: [UInt8] = []
    copy.reserveCapacity(bytes.count)
    for index in bytes.indices { copy.append(bytes[index]) }
    if append(Seat.Word(uid: seat.claim.uid, bytes: copy, isCard: false), to: other) {
      counters.keysForwarded &+= 1
    }
  }

  func answer(_ uid: UInt32, to seat: Seat, now: Instant) {
    let isHost = seat.claim.role == .host
    guard
      seat.meters.questions.admit(
        perSecond: isHost ? limits.keysPerSecond : limits.questionsPerSecond,
        burst: isHost ? limits.keyBurst : limits.questionBurst, now: now)
    else { return counters.tooMany &+= 1 }
    guard let other = seat.room.seat(of: uid),
      ChannelWordFrame.cardByteCounts.contains(other.card.count)
    else { return counters.wordsUndeliverable &+= 1 }
    if append(Seat.Word(uid: uid, bytes: other.card, isCard: true), to: seat) {
      counters.cardsSent &+= 1
    }
  }

  /// A host has a message for all.
  ///
  /// - Returns: Its uid, and the sessions of the others; `nil` where it goes to nobody.
  package func takeData(
    byteCount: Int, of slot: UInt32, now: Instant
  ) -> (uid: UInt32, slots: [UInt32])? {
    guard let seat = seat(slot), seat.isTaken, seat.claim.role == .host else {
      counters.messagesNotAllowed &+= 1
      return nil
    }
    let others = seat.room.seats.filter {
      $0 !== seat && $0.told.takesData && $0.isThere(limits, now: now)
    }
    guard
      seat.meters.messages.admit(
        perSecond: limits.messagesPerSecond, burst: limits.messagesPerSecond, now: now),
      seat.meters.messageCopies.admit(
        UInt64(max(1, others.count)), perSecond: limits.messageCopiesPerSecond,
        burst: limits.messageCopiesPerSecond, now: now)
    else {
      counters.tooMany &+= 1
      return nil
    }
    counters.messagesForwarded &+= UInt64(others.count)
    return (seat.claim.uid, others.map(\.slot))
  }

  private func append(_ word: Seat.Word, to seat: Seat) -> Bool {
    guard seat.words.count < limits.wordsPerSeat, append(.word, to: seat) else { return false }
    seat.words.append(word)
    return true
  }

  @_lifetime(packet: copy packet)
  func writeWord(to seat: Seat, into packet: inout OutputSpan<UInt8>) {
    guard !seat.words.isEmpty else { return }
    let word = seat.words.removeFirst()
    if word.isCard {
      ChannelWordFrame.writeCard(word.bytes.span, uid: word.uid, to: &packet)
    } else {
      ChannelWordFrame.writeKey(word.bytes.span, uid: word.uid, to: &packet)
    }
  }
}
