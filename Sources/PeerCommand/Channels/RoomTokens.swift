internal import Earshot
internal import Primitives
internal import Reactor

/// The files of the tokens that `earshot join` has shown: once a token is about to end its file is
/// read each second, and a newer one in it is handed to the channel, which goes on without a gap.
package final class RoomTokens {
  /// What is found in a file.
  package enum News: Sendable {
    case newer(String)
    /// It has held for two looks what is no token; told once of each such content.
    case unusable(String)
  }

  private struct Entry {
    let channel: Channel
    let file: TokenFile
  }

  private let session: OnlineSession
  private var entries: [ChannelName: Entry] = [:]

  init(_ session: OnlineSession) { self.session = session }

  // MARK: - Inputs

  /// A channel was asked to let us in by what is in a file.
  func add(_ channel: Channel, path: String, text: String) {
    let file = session.inbox.channelTokenFile(path, text: text, of: channel.name)
    entries[channel.name] = Entry(channel: channel, file: file)
  }

  func handle(_ step: ChannelStep, in name: ChannelName) {
    guard let file = entries[name]?.file else { return }
    let path = Printable.only(file.path)
    switch step {
    case .tokenWillExpire:
      if !watch(file) {
        session.console.say("Put a newer token into \(path); earshot token sign makes it.")
      }
    case .tokenRenewed, .left, .stateChanged(.failed, _): file.stop()
    case .tokenRefused:
      session.console.say("The one before holds until its end; put another one into \(path).")
    default: break
    }
  }

  func handle(_ news: News, in name: ChannelName) async {
    guard let entry = entries[name] else { return }
    switch news {
    case .newer(let text):
      do throws(EarshotError) {
        try await entry.channel.renewToken(text)
      } catch {
        tellUnusable("\(error.message) \(error.advice)", in: name)
      }
    case .unusable(let sentence): tellUnusable(sentence, in: name)
    }
  }

  // MARK: - Parts

  /// Whether there is another token in the file already.
  private func watch(_ file: TokenFile) -> Bool {
    do throws(ReactorError) {
      return try file.watch()
    } catch {
      session.remember(CommandFailure(system: error))
      return false
    }
  }

  private func tellUnusable(_ sentence: String, in name: ChannelName) {
    session.lines.write("event") { object in
      object.add("name", "channelTokenUnusable")
      object.add("channel", name.description)
      object.add("message", sentence)
    }
    session.console.sayFailed(
      "\(name.shortText): \(sentence) The token before holds until its end.")
  }
}
