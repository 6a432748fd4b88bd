internal import MediaFiles
internal import Primitives
internal import Video
internal import Wire

/// One datagram, field by field; what is sealed is said to be sealed.
package enum PacketExplanation {
  package static func text(_ bytes: [UInt8]) -> String {
    ([title(bytes)]
      + fields(bytes).map { field in
        let place = pad("\(field.offset)", 5) + pad("\(field.count)", 6)
        return "  " + place + pad(field.name, 30) + field.meaning
      }).joined(separator: "\n")
  }

  struct Field {
    var offset: Int
    var count: Int
    var name: String
    var meaning: String
  }

  /// What kind of packet it is, in a line.
  package static func title(_ bytes: [UInt8]) -> String {
    let size = "\(bytes.count) bytes"
    switch Demultiplexer.classify(bytes.span) {
    case .sealed: return "DATA, \(size): a sealed packet of a session (session.md §6)"
    case .control(let type): return "\(name(type)), \(size)"
    case .foreign:
      if RTPMapping.parse(bytes.span) != nil { return "RTP, \(size) (RFC 3550)" }
      return "\(size) that are neither ours nor RTP: dropped without an answer (session.md §1)"
    }
  }

  static func name(_ type: PacketType) -> String {
    switch type {
    case .initiation: "INIT: begins a handshake (session.md §2)"
    case .response: "RESP: answers a handshake (session.md §2)"
    case .cookie: "COOKIE: come again with this (session.md §3)"
    case .reset: "RESET: that session is unknown here (session.md §8)"
    case .version: "VERSION: which versions are spoken here (session.md §4)"
    case .cardRequest: "CARD_REQUEST: who are you? (session.md §4)"
    case .card: "CARD: who I am (session.md §4)"
    case .nodesRequest: "NODES_REQUEST: which nodes has that root signed? (session.md §4)"
    case .nodes: "NODES: the nodes that a root has signed (session.md §4)"
    }
  }

  static func fields(_ bytes: [UInt8]) -> [Field] {
    var walk = Walk(bytes)
    switch Demultiplexer.classify(bytes.span) {
    case .sealed: sealed(&walk)
    case .control(let type): control(type, &walk)
    case .foreign:
      if let (header, start) = RTPMapping.parse(bytes.span) { rtp(header, start, &walk) }
    }
    return walk.fields
  }

  private static func sealed(_ walk: inout Walk) {
    walk.explain(1, "type") { "0x60; its low 5 bits are masked" }
    walk.explainNumber(4, "receiver's connection ID")
    walk.explain(4, "packet number") { "masked: only the two ends can read it" }
    walk.explain(walk.remaining - 16, "frames") { "sealed (ChaCha20-Poly1305)" }
    walk.explain(16, "tag") { "proves that nothing was changed" }
  }

  private static func control(_ type: PacketType, _ walk: inout Walk) {
    let first = [.card, .cardRequest, .nodes, .nodesRequest].contains(type)
    walk.explainByte("type") { "0x\(String($0, radix: 16))" }
    walk.explainByte("version") { $0 == 1 ? "1" : "\($0): another version than ours" }
    walk.explainByte(first ? "zero" : "suite") { value in
      first ? "\(value)" : value == 1 ? "Noise_IKpsk2_25519_ChaChaPoly_SHA256" : "\(value): unknown"
    }
    walk.explainByte(first ? "zero" : "purpose") { first ? "\($0)" : purpose($0) }
    body(type, &walk)
    walk.explain(walk.remaining, "zero") { "makes the question as long as the answer" }
  }

  /// What follows the first four bytes.
  private static func body(_ type: PacketType, _ walk: inout Walk) {
    switch type {
    case .initiation:
      walk.explainNumber(4, "initiator's connection ID")
      walk.explain(32, "ephemeral key") { "fresh for this handshake" }
      walk.explain(48, "static key") { "sealed: who calls is hidden" }
      walk.explain(1080, "payload") { "sealed: time, card, name" }
      walk.explain(16, "MAC1") { "whoever made it knows the responder's key" }
      walk.explain(16, "MAC2") { $0.allSatisfy { $0 == 0 } ? "none" : "made with a cookie" }
    case .response: response(&walk)
    case .cookie:
      walk.explainNumber(4, "initiator's connection ID")
      walk.explain(24, "nonce") { "" }
      walk.explain(32, "cookie") { "sealed with the responder's public key" }
    case .reset:
      walk.explainNumber(4, "connection ID answered")
      walk.explain(16, "reset token") { "proves that the rendezvous sent it" }
      walk.explain(16, "random") { "" }
    case .version:
      walk.explainNumber(4, "initiator's connection ID")
      walk.explainByte("lowest version") { "\($0)" }
      walk.explainByte("highest version") { "\($0)" }
    case .cardRequest, .card:
      walk.explain(8, "nonce") { "repeated in the answer" }
      if type == .card { card(&walk) }
    case .nodesRequest, .nodes:
      walk.explain(8, "nonce") { "repeated in the answer" }
      if type == .nodes { nodes(&walk) } else { walk.explain(32, "root's ID") { rootText($0) } }
    }
  }

  private static func response(_ walk: inout Walk) {
    walk.explainNumber(4, "responder's connection ID")
    walk.explainNumber(4, "initiator's connection ID")
    walk.explain(32, "ephemeral key") { "fresh for this handshake" }
    walk.explain(124, "payload") { "sealed: times, the address as seen, status" }
    walk.explain(16, "MAC1") { "whoever made it knows the initiator's key" }
    walk.explain(16, "zero") { "" }
  }

  private static func card(_ walk: inout Walk) {
    walk.explain(2, "length") { "" }
    let bytes = walk.rest
    do throws(WireError) {
      let card = try ContactCard(parsing: bytes)
      walk.explain(bytes.count, "contact card") {
        "of \(card.id)\(card.content.name.map { ", called \($0)" } ?? ""), serial "
          + "\(card.content.serial); the signature is not checked here"
      }
    } catch {
      walk.explain(bytes.count, "contact card") { "cannot be read: \(error)" }
    }
  }

  private static func rootText(_ bytes: [UInt8]) -> String {
    PeerID(bytes).map { "\($0)" } ?? ""
  }

  private static func nodes(_ walk: inout Walk) {
    walk.explain(2, "length") { "" }
    let bytes = walk.rest
    do throws(WireError) {
      let list = try NodeList(parsing: bytes)
      walk.explain(bytes.count, "list of nodes") {
        "of the root \(list.root), \(list.nodes.count) nodes, serial \(list.serial); the "
          + "signature is not checked here"
      }
    } catch {
      walk.explain(bytes.count, "list of nodes") { "cannot be read: \(error)" }
    }
  }

  private static func rtp(_ header: RTPMapping, _ start: Int, _ walk: inout Walk) {
    walk.explainByte("version, flags") { "2, \($0 & 0x3F) " }
    let isVideo = header.payloadType == VP8Descriptor.payloadType
    walk.explainByte("marker, payload type") { _ in
      let isOpus = header.payloadType == RTPMapping.opusPayloadType
      let codec = isOpus ? ", as Opus is" : isVideo ? ", as VP8 is" : ""
      let mark = isVideo ? "ends a frame, " : "first after silence, "
      return "\(header.isMarked ? mark : "")\(header.payloadType)\(codec)"
    }
    walk.explain(2, "sequence number") { "\(header.sequenceNumber)" }
    walk.explain(4, "timestamp") { "\(header.timestamp) of \(isVideo ? "90" : "48") 000 a second" }
    walk.explain(4, "SSRC") { "0x\(String(header.source, radix: 16))" }
    if start > 12 { walk.explain(start - 12, "sources, extension") { "" } }
    if isVideo { video(&walk) }
    walk.explain(walk.remaining, "payload") { "in clear" }
  }

  /// What RFC 7741 §4.2 puts before a VP8 frame, and the frame's own header (RFC 6386 §9.1).
  private static func video(_ walk: inout Walk) {
    let payload = walk.rest
    guard let (descriptor, start) = VP8Descriptor.parse(payload.span) else { return }
    walk.explain(start, "VP8 descriptor") {
      "picture \(descriptor.pictureID), layer \(descriptor.temporalLayer)"
        + (descriptor.isNonReference ? ", may be left out" : "")
        + (descriptor.isStart ? ", begins a frame" : ", goes on with a frame")
    }
    guard descriptor.isStart else { return }
    let frame = walk.rest
    do throws(WireError) {
      let header = try VP8Header(parsing: frame.span)
      walk.explain(header.size == nil ? 3 : 10, "VP8 frame header") {
        guard let size = header.size else { return "refers to frames before it" }
        return "key frame of \(size.width)x\(size.height)"
      }
    } catch {
      walk.explain(3, "VP8 frame header") { "cannot be read" }
    }
  }

  private static func purpose(_ value: UInt8) -> String {
    switch HandshakePurpose(rawValue: value) {
    case .register: "1: register at a rendezvous"
    case .call: "2: call"
    case .rekey: "3: new keys"
    case .direct: "4: direct"
    case nil: "\(value): unknown"
    }
  }

  private static func pad(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(1, width - text.count))
  }

  /// Steps through the bytes; a step beyond the end takes what there is.
  private struct Walk {
    let bytes: [UInt8]
    var offset = 0
    var fields: [Field] = []

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var remaining: Int { bytes.count - offset }
    var rest: [UInt8] { Array(bytes[offset...]) }

    mutating func explain(_ count: Int, _ name: String, _ meaning: ([UInt8]) -> String) {
      let count = min(max(0, count), remaining)
      guard count > 0 else { return }
      let part = Array(bytes[offset..<(offset + count)])
      fields.append(Field(offset: offset, count: count, name: name, meaning: meaning(part)))
      offset += count
    }

    mutating func explain(_ count: Int, _ name: String, _ meaning: () -> String) {
      let text = meaning()
      explain(count, name) { (_: [UInt8]) in text }
    }

    mutating func explainByte(_ name: String, _ meaning: (UInt8) -> String) {
      explain(1, name) { (part: [UInt8]) in meaning(part[0]) }
    }

    /// A little-endian number, in hex.
    mutating func explainNumber(_ count: Int, _ name: String) {
      explain(count, name) { (part: [UInt8]) in
        "0x" + part.reversed().map { String(0x100 + Int($0), radix: 16).dropFirst() }.joined()
      }
    }
  }
}
