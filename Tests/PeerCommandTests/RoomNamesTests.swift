import Earshot
import Primitives
import Testing

@testable import PeerCommand

/// What members of a channel are called in sentences.
struct RoomNamesTests {
  private let own = PeerID(word0: 1, word1: 0, word2: 0, word3: 0)
  private let alice = PeerID(word0: 2, word1: 0, word2: 0, word3: 0)
  private let stranger = PeerID(word0: 3, word1: 0, word2: 0, word3: 0)

  private func names() -> RoomNames {
    let alice = alice
    var names = RoomNames(own: own) { [alice: "alice"] }
    for (uid, id) in [(5, alice), (6, stranger), (7, own)] as [(UInt32, PeerID)] {
      names.add(ChannelUser(uid: uid, id: id, role: .host), now: .zero)
    }
    return names
  }

  private func sentence(_ step: ChannelStep) throws -> String? {
    ChannelWords.sentence(step, in: try #require(ChannelName("tea")), names())
  }

  private func came(_ uid: UInt32, _ id: PeerID) -> ChannelStep {
    .userJoined(ChannelUser(uid: uid, id: id, role: .host), elapsed: .zero)
  }

  @Test func `who is pinned has the name, and others their uid`() throws {
    #expect(try sentence(came(5, alice)) == "alice is there, as host 5.")
    #expect(try sentence(came(6, stranger)) == "Host 6 is there (\(stranger)).")
    #expect(try sentence(.userOffline(uid: 5, .left)) == "alice (5) is gone: left.")
    #expect(try sentence(.userOffline(uid: 6, .left)) == "Host 6 is gone: left.")
    let listener = ChannelUser(uid: 5, id: alice, role: .audience)
    #expect(try sentence(.audienceJoined(listener)) == "alice listens, as 5.")
    #expect(try sentence(.audienceLeft(uid: 5, .left)) == "alice (5) listens no more: left.")
    #expect(try sentence(.removalFinished(uid: 5, nil)) == "alice (5) was removed.")
    #expect(
      ChannelWords.sentence(.audioMuted(uid: 5, isMuted: true), names())
        == "alice (5) keeps its sound back.")
    let members = [5, 6].map { ChannelUser(uid: $0, id: $0 == 5 ? alice : stranger, role: .host) }
    #expect(
      RemovalChoice(members, own: 1, bans: false, names())?.question.hasPrefix(
        "Remove whom? 1: alice (5), 2: 6;") == true)
  }

  /// Method: another program of the own identity comes, and dies.
  @Test func `another stay of the own identity is nobody who comes or leaves`() throws {
    for step in [came(7, own), .userOffline(uid: 7, .dropped), .audienceLeft(uid: 7, .left)] {
      let words = try #require(try sentence(step))
      #expect(words.contains("the own identity") || words.hasPrefix("The own identity"))
      #expect(!words.contains("is gone") && !words.hasPrefix("Host"), "\(words)")
    }
  }

  @Test func `pins are read again after a while, and who left is forgotten`() {
    let alice = alice
    var reads = 0
    var names = RoomNames(own: own) {
      reads += 1
      return reads > 1 ? [alice: "alice"] : [:]
    }
    let user = ChannelUser(uid: 5, id: alice, role: .host)
    names.add(user, now: .zero)
    names.add(user, now: .zero + .seconds(1))
    #expect(reads == 1 && names.name(5) == "5")
    names.add(user, now: .zero + .seconds(3))
    #expect(reads == 2 && names.name(5) == "alice (5)")
    names.remove(5)
    #expect(names.name(5) == "5" && names.host(5) == "Host 5")
  }
}
