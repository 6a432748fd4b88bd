import Primitives
import Wire

extension FuzzTarget {
  static let calling: [FuzzTarget] = [signalBody, callControl, invite, answer, ringDetails]

  static let someCall = CallID(Array(1...16)) ?? CallID(from: &chance)
  private static var chance: RandomSource {
    get { RandomSource(seed: 1) }
    set {}
  }

  /// Reads `bytes` with `parse`, writes the result, and expects to read the same again. Not the
  /// same bytes: unknown TLVs and reserved bits are skipped, not kept.
  static func expectStable<Message: Equatable>(
    _ bytes: [UInt8], write: (Message) -> [UInt8],
    parse: ([UInt8]) throws(WireError) -> Message
  ) {
    guard let first = try? parse(bytes) else { return }
    guard let second = try? parse(write(first)) else {
      return expect(false, "what was written can be read")
    }
    expect(first == second, "a message survives being written")
  }

  private static let signalBody = FuzzTarget(
    "signal-body", maximumByteCount: 4200, seeds: { signalSeeds.map(\.bytes) },
    run: { bytes in
      expectStable(bytes, write: \SignalBody.bytes) { bytes throws(WireError) in
        try SignalBody(parsing: bytes.span)
      }
    })

  private static var signalSeeds: [SignalBody] {
    let mac = [UInt8](repeating: 9, count: 16)
    let details = SealedRingDetails(
      isPrepared: true, nonce: Array(repeating: 3, count: 24),
      sealed: Array(repeating: 4, count: 40))
    let noise = [UInt8](repeating: 5, count: 240)
    let contents: [(SignalBody.Content, [UInt8])] = [
      (.invite(connectionID: 77, noiseMessage: noise), []), (.ringing(details), mac),
      (.accept(noiseMessage: noise), []), (.reject(noiseMessage: noise), []),
      (.cancel(.userCancelled), mac), (.timeout(.noAnswer), mac),
      (
        .cancel(
          .userCancelled,
          words: SealedWords(
            nonce: Array(repeating: 5, count: 24), sealed: Array(repeating: 6, count: 30))), mac
      ),
      (.hangUp(.userHungUp, ReasonText(clipping: "bye")), mac), (.receipt(of: .accept), mac),
      (.unsupported(lowestVersion: 1, highestVersion: 2), []),
      (
        .candidates(
          SealedCandidates(
            number: 1, nonce: Array(repeating: 3, count: 24),
            sealed: Array(repeating: 4, count: 59))), []
      ),
    ]
    return contents.map { SignalBody(someCall, $0.0, mac: $0.1) }
  }

  private static var someKey: Bytes32 { Bytes32(Array(1...32)) ?? .zero }
  private static var someID: PeerID { PeerID(someKey) }
  private static var someName: PeerName {
    guard let name = PeerName("call") else { preconditionFailure("it is a name") }
    return name
  }

  private static let callControl = FuzzTarget(
    "call-control", maximumByteCount: 700,
    seeds: {
      let messages: [CallControlMessage] = [
        .confirm(opening: Array(repeating: 1, count: 32)),
        .hangUp(.userHungUp, ReasonText(clipping: "bye")), .mediaState(.audio),
        .hangUp(.userHungUp, ReasonText(clipping: "bye"), userExtension: "{}"),
        .quality(sent: 1, received: 2), .videoRotation(.quarter, mediaTime: 99), .smallVideo(nil),
        .music(true),
        ChannelPass(
          key: someKey, name: someName, token: Array("v4.public.x".utf8)
        ).map { .channel($0) } ?? .music(false),
        .channelRemark(.declined), .channelRemark(.guest(someID, someName)),
        .channelRemark(.wish(someID, nil)),
        .channelRemark(.entry(someID, token: Array("v4.public.x".utf8))),
        .smallVideo(
          SmallVideo(width: 160, height: 120, framesPerSecond: 5, bitsPerSecond: 65_000)),
      ]
      return messages.map(\.bytes)
    },
    run: { bytes in
      expectStable(bytes, write: \CallControlMessage.bytes) { bytes throws(WireError) in
        var reader = ByteReader(bytes.span)
        return try CallControlMessage(parsing: &reader)
      }
    })

  private static var offer: CallOffer {
    let address = SocketAddress(v4: 192, 0, 2, 1, port: 7400)
    return CallOffer(
      card: Array(repeating: 7, count: 200),
      candidates: CandidateList([Candidate(.host, address), Candidate(.serverReflexive, address)]),
      media: MediaDescription([MediaDescription.Entry(.opus, stream: 0)]),
      userExtension: "{\"a\":1}", rejoinSeconds: 120, abilities: .moreWords)
  }

  private static let invite = FuzzTarget(
    "invite-payload", maximumByteCount: 2000,
    seeds: {
      [
        InvitePayload(
          callID: someCall, createdMilliseconds: 1, commitment: Array(repeating: 1, count: 32),
          callKey: Array(repeating: 2, count: 32), ringConnectionID: 3,
          ringTimeoutMilliseconds: 15_000, offer: offer
        ).bytes
      ]
    },
    run: { bytes in
      expectStable(bytes, write: \InvitePayload.bytes) { bytes throws(WireError) in
        var reader = ByteReader(bytes.span)
        return try InvitePayload(parsing: &reader)
      }
    })

  private static let answer = FuzzTarget(
    "answer-payload", maximumByteCount: 2000,
    seeds: {
      let verdicts: [AnswerPayload.Verdict] = [
        .accepted(connectionID: 9), .rejected(.busy, ReasonText(clipping: "later")),
      ]
      return verdicts.map {
        AnswerPayload(
          callID: someCall, verdict: $0, contribution: Array(repeating: 2, count: 16), offer: offer
        ).bytes
      }
    },
    run: { bytes in
      expectStable(bytes, write: \AnswerPayload.bytes) { bytes throws(WireError) in
        var reader = ByteReader(bytes.span)
        return try AnswerPayload(parsing: &reader)
      }
    })

  private static let ringDetails = FuzzTarget(
    "ring-details", maximumByteCount: 400,
    seeds: { [RingDetails(ringConnectionID: 4, candidates: offer.candidates).bytes] },
    run: { bytes in
      expectStable(bytes, write: \RingDetails.bytes) { bytes throws(WireError) in
        var reader = ByteReader(bytes.span)
        return try RingDetails(parsing: &reader)
      }
    })
}
