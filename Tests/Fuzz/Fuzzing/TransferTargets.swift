import Primitives
import Wire

extension FuzzTarget {
  static let transfers: [FuzzTarget] = [transferMessage]

  /// What either side of a transfer may say.
  private static let transferMessage = FuzzTarget(
    "transfer-message", maximumByteCount: 1200,
    seeds: {
      let hash = [UInt8](repeating: 7, count: TransferOffer.hashByteCount)
      let messages: [TransferMessage] = [
        .offer(TransferOffer(.file, byteCount: 1000, hash: hash, name: "talk.wav")),
        .offer(TransferOffer(.text, byteCount: 5, hash: hash, name: "")),
        .go(offset: 500), .data([1, 2, 3]), .result(.stored),
      ]
      return messages.map(\.bytes)
    },
    run: { bytes in
      expectStable(bytes, write: \TransferMessage.bytes) { bytes throws(WireError) in
        try TransferMessage(parsing: bytes.span)
      }
    })
}
