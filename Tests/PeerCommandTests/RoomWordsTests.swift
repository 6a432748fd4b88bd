import Arguments
import Foundation
import Primitives
import Testing

@testable import Earshot
@testable import PeerCommand

/// What a person reads about a channel that the call becomes, and by what its calls are known.
@Suite struct RoomWordsTests {
  private static func peer(_ number: UInt8) throws -> PeerID {
    try #require(PeerID(Array(repeating: number, count: 32)))
  }

  private static func incoming(_ words: String?) throws -> IncomingCall {
    IncomingCall(
      id: CallID(bytes: Array(0..<16)), peer: try peer(1), name: nil, trust: .new,
      nameTrust: nil, newName: nil, userExtension: words, offersVideo: false)
  }

  /// Goal: who is asked reads who comes; a name that another one gives is no more than that.
  @Test func `a question names the guest by its pin, or by its ID`() throws {
    let carol = try Self.peer(3)
    let bob = CallChannel.Member(
      call: CallID(bytes: Array(0..<16)), id: nil, name: "bob", uid: nil, isInvited: false)
    func question(
      _ asker: CallChannel.Member?, _ name: String?, pinned: String?
    ) -> String {
      RoomWords.sentence(
        CallChannel.Question(asker: asker, guest: carol, guestName: name), of: "bob",
        pinned: pinned)
    }
    #expect(
      question(nil, "carol", pinned: "caroline")
        == "bob asks caroline into this call, who would hear you. Press y or n.")
    let claimed = question(nil, "carol", pinned: nil)
    #expect(claimed.contains("carol (so bob says; \(carol))"))
    #expect(question(nil, nil, pinned: nil).contains("\(carol)"))
    #expect(
      question(bob, nil, pinned: "caroline")
        == "bob asks caroline into the channel. Press y or n.")
    let open = CallChannel.Question()
    #expect(RoomWords.sentence(open, of: "bob", pinned: nil).contains("asks others into"))
    #expect(RoomWords.news(.connected(bob), of: "alice") == "Connected with bob, in the channel.")
    #expect(RoomWords.failure(.cannotCome(bob))?.contains("cannot come into a channel") == true)
    #expect(RoomWords.failure(.isAsked) == nil && RoomWords.news(.isUnanswered, of: "bob") == nil)
  }

  @Test func `the call of a member is known by its channel`() throws {
    let tea = try #require(ChannelKey().channel(named: "call"))
    let words = "{\"channel\":\"\(tea.audience)\"}"
    #expect(CallChannelMarks.isOfChannel(try Self.incoming(words)))
    for other in [CallChannelMarks.invitation, "{}", nil] {
      #expect(!CallChannelMarks.isOfChannel(try Self.incoming(other)))
    }
  }

  /// Goal: what further members are seen by has files of its own, and is refused where it cannot.
  @Test func `each further call has an encoder and a file of its own`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("seen.ivf")
    func sound(_ words: [String]) throws -> SoundOptions {
      let all = ["bob", "--rendezvous", "127.0.0.1:1"] + words
      return try CallCommand(Arguments(all)) { _ in nil }.sound
    }
    let pictures = RoomPictures(
      try sound(["--video", "test", "--save-video", path]), saveName: path, overwrites: false)
    var options = CallOptions()
    let refused = pictures.add(to: &options)
    let first = pictures.add(to: &options)
    let second = pictures.add(to: &options)
    #expect(options.videoSource != nil && options.videoSink != nil)
    #expect(first != nil && second != nil && refused != nil)
    let calls = (0..<4).map { CallID(bytes: Array($0..<$0 + 16)) }
    pictures.assign(refused, to: calls[0])
    pictures.assign(first, to: calls[1])
    pictures.assign(second, to: calls[2])
    // What did not come about has no number, and the name stays with a call that is replaced.
    pictures.handleEnd(of: calls[0])
    #expect(pictures.saveName(of: calls[2]) == folder.file("seen-member-1.ivf"))
    pictures.replace(calls[1], by: calls[3])
    #expect(pictures.saveName(of: calls[3]) == folder.file("seen-member-2.ivf"))
    #expect(pictures.saveName(of: calls[2]) == folder.file("seen-member-1.ivf"))
    #expect(pictures.saveName(of: calls[0]) == nil && pictures.fault == nil)
    // What is there already belongs to somebody, and no call loses its pictures to it.
    let taken = folder.file("seen-member-3.ivf")
    try "old".write(toFile: taken, atomically: true, encoding: .utf8)
    let third = pictures.add(to: &options)
    #expect(third?.name == folder.file("seen-member-4.ivf"))
    let none = RoomPictures(try sound([]), saveName: nil, overwrites: false)
    #expect(none.add(to: &options) == nil)
    #expect(options.videoSource == nil && options.videoSink == nil)
    #expect(throws: UsageError.self) { _ = try sound(["--save-video", "{uid}.ivf"]) }
  }

  @Test func `call says who is talked with in a channel, as answer does`() throws {
    func call(_ words: [String]) throws -> CallCommand {
      try CallCommand(Arguments(["bob", "--rendezvous", "127.0.0.1:1"] + words)) { _ in nil }
    }
    let carol = try Self.peer(3)
    #expect(try call([]).callers.admits(carol, name: nil, trust: .new))
    #expect(!(try call(["--from", "known"]).callers.admits(carol, name: nil, trust: .new)))
    #expect(try call(["--from", "\(carol)"]).callers.admits(carol, name: nil, trust: .new))
    #expect(throws: UsageError.self) { _ = try call(["--from", "no name"]) }
  }

  /// Goal: whoever reads what a program writes down does not get in by it.
  @Test func `a word about a channel has no token as text`() throws {
    let carol = try Self.peer(3)
    let word = ChannelWord.entry(carol, token: "v4.public.secret")
    #expect("\(CallProgress.channelWord(word))".contains("entry \(carol)"))
    #expect(!"\(CallProgress.channelWord(word))".contains("secret"))
    #expect(ChannelWord.declined.peer == nil && "\(ChannelWord.declined)" == "declined")
  }
}
