import Arguments
import Earshot
import MediaFiles
import PeerCommand
import Testing

struct VideoOptionsTests {
  private static func call(_ words: [String]) throws -> CallCommand {
    try CallCommand(Arguments(["bob", "--rendezvous", "h:1"] + words)) { _ in nil }
  }

  @Test func `video has every option of the contract`() throws {
    let video = try Self.call([
      "--video", "in.y4m", "--save-video", "out.IVF", "--max-video-bitrate", "600000",
      "--fallback", "disabled",
    ]).sound.video
    #expect(video.picture == .file("in.y4m") && video.save == "out.IVF")
    #expect(video.maxBitrate == 600_000 && video.fallback == .disabled && video.isWanted)
    #expect(try Self.call(["--video", "test"]).sound.video.picture == .test)
    #expect(try Self.call(["--loop", "--video", "in.y4m"]).sound.isLooped)
  }

  @Test func `without them the call is one of sound alone`() throws {
    let sound = try Self.call([]).sound
    #expect(!sound.video.isWanted && sound.video.fallback == .audioOnly)
    #expect(sound.video.maxBitrate == 8_000_000)
    let ends = try OpenedSound(sound, call: 1)
    let options = sound.callOptions(ends)
    #expect(options.videoSource == nil && options.videoSink == nil)
  }

  @Test func `what is said comes to the call`() throws {
    let folder = try TemporaryFolder()
    let sound = try Self.call([
      "--video", "test", "--save-video", folder.file("{n}.ivf"), "--fallback", "disabled",
      "--max-video-bitrate", "70000",
    ]).sound
    let ends = try OpenedSound(sound, call: 3)
    #expect(ends.video?.saveName == folder.file("3.ivf"))
    let options = sound.callOptions(ends)
    #expect(options.videoSource != nil && options.videoSink != nil)
    #expect(options.fallback == .disabled && options.maxVideoBitrate == 70_000)
    #expect(!options.startsVideoMuted)
  }

  @Test func `recordings of later calls get names of their own`() {
    #expect(SaveName.of("a{n}.ivf", call: 2) == "a2.ivf")
    #expect(SaveName.of("a.ivf", call: 1) == "a.ivf" && SaveName.of("a.ivf", call: 2) == "a-2.ivf")
    #expect(SaveName.of("a", call: 2) == "a-2")
  }

  @Test func `a file that is no video is a failure of the file`() throws {
    let folder = try TemporaryFolder()
    for name in ["missing.y4m", "bad.y4m"] {
      if name == "bad.y4m" { try folder.write(Array("YUV4MPEG2 W16\n".utf8), to: name) }
      let sound = try Self.call(["--video", folder.file(name)]).sound
      let failure = #expect(throws: MediaFileError.self) { try OpenedSound(sound, call: 1) }
      #expect(failure.map { CommandFailure($0).code } == .file)
    }
    let sound = try Self.call(["--save-video", folder.file("no/v.ivf")]).sound
    #expect(throws: MediaFileError.self) { try OpenedSound(sound, call: 1) }
  }
}
