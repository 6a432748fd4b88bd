import Primitives
import Tokens
package import Wire

/// The token that a member shows, and its end.
struct ChannelToken {
  private(set) var text: [UInt8]
  private let limits: ChannelLimits
  private var end: Instant?
  /// When to warn of the end; `nil` once that was done.
  private(set) var warning: Instant?

  init(_ text: [UInt8], limits: ChannelLimits) {
    self.text = text
    self.limits = limits
  }

  /// What the server says of its end. A second warning of the same end is none.
  mutating func handleLife(_ milliseconds: UInt32, now: Instant) {
    guard end == nil, milliseconds != ChannelWelcome.unlimited else { return }
    set(milliseconds, now: now)
  }

  mutating func handleRenewal(_ text: [UInt8], _ milliseconds: UInt32, now: Instant) {
    self.text = text
    end = nil
    warning = nil
    // In an open channel a token has no meaning.
    if milliseconds > 0 { handleLife(milliseconds, now: now) }
  }

  mutating func takeWarning(now: Instant) -> Bool {
    guard let warning, warning <= now else { return false }
    self.warning = nil
    return true
  }

  func left(now: Instant) -> Duration { end.map { max(.zero, $0 - now) } ?? .zero }

  private mutating func set(_ milliseconds: UInt32, now: Instant) {
    let end = now + .milliseconds(Int64(milliseconds))
    self.end = end
    warning = max(now, end - limits.tokenWarning)
  }
}

/// Commands of one channel that wait for their results, one at a time.
struct CommandQueue {
  private var waiting: [(number: UInt32, content: ChannelRequest.Content)] = []
  private var lastNumber: UInt32 = 0
  /// When the first one goes, or goes again.
  private var next: Instant?

  /// PROOF leaves half of the places to others, and waits once for each member.
  ///
  /// - Returns: `false` if too many wait.
  mutating func append(_ content: ChannelRequest.Content, limit: Int) -> Bool {
    guard waiting.count < limit else { return false }
    if case .proof = content {
      if waiting.contains(where: { $0.content == content }) { return true }
      guard waiting.count <= limit / 2 else { return false }
    }
    lastNumber += 1
    waiting.append((lastNumber, content))
    return true
  }

  /// Whether the role host is asked for.
  var wantsHost: Bool { waiting.contains { $0.content == .role(.host) } }

  var due: Instant? { waiting.isEmpty ? nil : next ?? .zero }

  mutating func takeDue(
    now: Instant, repetition: Duration
  ) -> (number: UInt32, content: ChannelRequest.Content)? {
    guard let due, due <= now, let first = waiting.first else { return nil }
    next = now + repetition
    // They are asked for once; whoever wants them again says so.
    switch first.content {
    case .proof, .relay, .relayLost:
      waiting.removeFirst()
      next = nil
    default: break
    }
    return first
  }

  mutating func repeatFirst() { next = nil }

  /// The command that a result is about; it is done.
  mutating func finish(_ number: UInt32) -> ChannelRequest.Content? {
    guard let first = waiting.first, first.number == number else { return nil }
    next = nil
    return waiting.removeFirst().content
  }
}

extension ChannelRelayGrant {
  /// Whether it is for that role: one that was asked for before the role changed is for another.
  /// True where it cannot be read.
  package func suits(_ role: MemberRole) -> Bool { (statedRole ?? role) == role }

  /// The role that it gives, as it says: nothing of it is proven.
  private var statedRole: MemberRole? {
    do throws(TokenFault) {
      let token = try PublicToken(parsing: String(decoding: self.token, as: UTF8.self))
      return try TokenClaims(json: token.payload).seat?.role
    } catch {
      return nil  // The relay will say what it thinks of it.
    }
  }
}
