import Arguments
import Glibc
import Primitives
import Reactor
import SecureSession

/// From command line to exit code.
enum ChannelLoadProgram {
  static let usage = """
    usage: ChannelLoad --relay HOST:PORT --relay-id ID [--hosts N] [--audience M] [--seconds S]
           ChannelLoad --id

    Takes seats for hosts and an audience of one channel at an earshot-relay that was started with
    --rendezvous 127.0.0.1:1#ID, where ID is what --id prints: the grants are signed here. Each host
    says a frame of 80 bytes each 20 ms. Prints a line of JSON when all hear, one when the seconds
    are over, and half a second later the last: frames that were said in that time, how many of
    them were heard, and how late, from the call that sends a frame to the kernel's time of its
    arrival.

    """

  static func run(_ words: [String]) -> Int32 {
    SignalWatch.block(SignalWatch.Signal.allCases)
    var arguments = Arguments(words)
    if arguments.wantsHelp {
      print(usage, terminator: "")
      return 0
    }
    do {
      if try arguments.flag("--id") {
        print(ChannelLoad.rendezvous.id)
        return 0
      }
      var options = LoadOptions()
      let relay = try arguments.option("--relay") ?? ""
      let id = try arguments.option("--relay-id") ?? ""
      options.hosts = try arguments.integer("--hosts", "hosts", in: 1...64) ?? 1
      options.audience = try arguments.integer("--audience", "members", in: 0...4000) ?? 0
      options.seconds = try arguments.integer("--seconds", "seconds", in: 1...600) ?? 10
      try arguments.finish()
      guard let address = SocketAddress(relay), let relayID = PeerID(id) else {
        throw UsageError("--relay HOST:PORT and --relay-id ID are needed.", advice: "See --help.")
      }
      options.relay = address
      options.relayID = relayID
      return try ChannelLoad(options).run()
    } catch {
      print("ChannelLoad: \(error)")
      return 2
    }
  }
}

struct LoadOptions {
  var relay = SocketAddress(v4: 127, 0, 0, 1, port: 7500)
  var relayID = PeerID.zero
  var hosts = 1
  var audience = 0
  var seconds = 10
}
