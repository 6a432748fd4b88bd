import Foundation
import PeerCommand
import Testing

/// `earshot join` as a program, with others of the same identity and in several channels.
@Suite(.serialized) struct JoinProgramTests {
  /// Goal: a channel that ends takes no other one with it, and the code tells of it.
  /// Method: alice's token of tea lasts 3 s, and bob shows hers, in the channel that he names last.
  @Test func `join goes on in the other channels, and its code is that of the one that failed`()
    throws
  {
    let stage = try Stage()
    defer { stage.end() }
    let keygen = try stage.start(
      "earshot", ["keygen", "--json", "--identity", stage.folder.file("identity-alice")])
    let id = try #require(keygen.line { _ in true }?["id"]?.asString)
    let key = stage.folder.file("key")
    let made = try stage.start("earshot", ["token", "new", "--key", key])
    #expect(made.exitCode == 0)
    let tea = "tea@" + made.output.trimmingCharacters(in: .whitespacesAndNewlines)
    let words = ["--key", key, "--sub", id, "--channel", tea, "--expires", "3s"]
    let signed = try stage.start("earshot", ["token", "sign"] + words)
    #expect(signed.exitCode == 0, "\(signed.errors)")
    try stage.folder.write(Array(signed.output.utf8), to: "token")
    let token = stage.folder.file("token")
    let alice = try stage.start(
      "earshot",
      ["join", tea, "--token", token, "--role", "audience", "--also", "milk", "--json"]
        + ["--duration", "7"] + stage.online("alice"))
    let bob = try stage.start(
      "earshot",
      ["join", "milk", "--role", "audience", "--also", "\(tea):audience:\(token)", "--json"]
        + ["--duration", "2"] + stage.online("bob"))
    #expect(alice.exitCode == 7, "\(alice.errors)")
    let first = try Self.summary(of: alice, "summary")
    #expect(first["reason"]?.asString == "tokenExpired")
    let second = try Self.summary(of: alice, "channelSummary")
    #expect(second["outcome"]?.asString == "completed")
    #expect(second["durationMs"]?.asNumber ?? 0 > 6000)
    #expect(bob.exitCode == 7, "\(bob.errors)")
    #expect(try Self.summary(of: bob, "summary")["outcome"]?.asString == "completed")
    #expect(try Self.summary(of: bob, "channelSummary")["outcome"]?.asString == "failed")
  }

  /// Goal: a program that is in a channel costs the others of its identity no call.
  @Test func `a call goes to the program that answers, beside one that has joined`() throws {
    let stage = try Stage()
    defer { stage.end() }
    let joined = try stage.start(
      "earshot", ["join", "tea", "--duration", "6", "--json"] + stage.online("bob"))
    _ = try #require(joined.line { $0["name"]?.asString == "channelJoined" })
    let answering = try stage.start(
      "earshot",
      ["answer", "--calls", "1", "--name", "bob", "--json", "--accept"] + stage.online("bob"))
    _ = try #require(answering.line { $0["name"]?.asString == "registered" })
    let caller = try stage.start(
      "earshot", ["call", "bob", "--duration", "1", "--json"] + stage.online("alice"))
    #expect(caller.exitCode == 0, "\(caller.errors)")
    #expect(answering.exitCode == 0)
    #expect(joined.exitCode == 0)
  }

  private static func summary(of program: Running, _ type: String) throws -> JSONValue {
    try #require(
      program.output.split(separator: "\n").compactMap { JSONReader.value(of: String($0)) }
        .first { $0["type"]?.asString == type })
  }
}
