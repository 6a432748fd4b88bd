import Foundation
import Peer
import Primitives
import Testing
import Tokens
import Wire

@testable import Earshot

/// Access tokens as applications see them.
struct TokenIssuerTests {
  private static let id = PeerID(word0: 1, word1: 2, word2: 3, word3: 4)

  @Test func `every fault has words that say what to do`() {
    let faults: [TokenFault?] = [nil] + TokenFault.allCases
    let errors = faults.map { EarshotError.token($0) }
    #expect(Set(errors.map(\.message)).count == faults.count)
    #expect(errors.allSatisfy { !$0.advice.isEmpty })
    #expect(errors[0].code == .tokenNeeded)
    #expect(EarshotError.token(.expired).code == .tokenExpired)
    #expect(errors.count { $0.code == .tokenRefused } == TokenFault.allCases.count - 1)
  }

  @Test func `what is no token is refused before anybody is asked`() async throws {
    var configuration = Configuration(rendezvous: "127.0.0.1:9")
    configuration.token = "nonsense"
    let error = await #expect(throws: EarshotError.self) {
      _ = try await Endpoint.open(configuration)
    }
    #expect(error?.code == .tokenRefused)
  }

  @Test func `a refusal for want of a token is final until there is another`() {
    for fault in [nil, TokenFault.expired] {
      let state = RegistrationState(.failed(.token(fault))) { _ in .token(fault) }
      #expect(state == .failed(.token(fault)))
    }
  }

  @Test func `a token whose time has not begun is waited for`() {
    let early = EarshotError.token(.notYetValid)
    let state = RegistrationState(.failed(.token(.notYetValid))) { _ in early }
    #expect(state == .reconnecting(early))
  }

  @Test func `keys and tokens are made, and files that cannot be used are named`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(
      path: "earshot-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "key").path
    let key = try TokenIssuer.makeKey(at: path)
    let claims = TokenClaims(audience: "here", subject: Self.id, expires: 2_000_000_000_000)
    let token = try PublicToken(parsing: try TokenIssuer.sign(claims, keyFile: path))
    let read = try TokenClaims(json: token.payload)
    #expect(token.isSigned(by: key) && read == claims)
    for body in [
      { _ = try TokenIssuer.makeKey(at: path) }, { _ = try TokenIssuer.publicKey(at: path) },
      { _ = try TokenIssuer.token(at: path + "-none") },
    ] as [() throws -> Void] {
      let error = #expect(throws: EarshotError.self) { try body() }
      #expect(error?.code == .fileUnusable && error?.message.contains(path) == true)
    }
  }
}
