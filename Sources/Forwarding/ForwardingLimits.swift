import Primitives

/// How much of everything a relay forwards and keeps (docs/protocol/relay.md §5), each with its
/// reason.
package struct ForwardingLimits: Sendable {
  /// Loudest hosts of a channel that are forwarded: more at once nobody understands.
  package var loudest = 3
  /// The most that a member may choose: all that a channel may have.
  package var chosen = 64
  /// CHANNEL_AUDIO of one member a second: frames of 10 ms, and some that waited.
  package var audioPerSecond: UInt64 = 110
  /// The same at once: what waited for a line of 0.6 s.
  package var audioBurst: UInt64 = 60
  /// Bytes of it: 128 kbit/s with two copies of each frame, and a second of that at once.
  package var bytesPerSecond: UInt64 = 64_000
  /// CHANNEL_KEY of one member a second: receipts, and keys that are handed out again.
  package var keysPerSecond: UInt64 = 100
  /// The same at once: a host hands its key to 255 others.
  package var keyBurst: UInt64 = 300
  /// CHANNEL_DATA of one host a second, and at once: twice what a member sends.
  package var messagesPerSecond: UInt64 = 60
  /// What one host's messages become a second, and at once: one for as many as there may be, which
  /// is more than a member sends.
  package var messageCopiesPerSecond: UInt64 = 4096
  /// A member that has said nothing for so long gets no sound and no new pictures until it does:
  /// two PINGs, which are 6 s apart, may be lost.
  package var memberSilence = Duration.seconds(15)
  /// Bytes of CHANNEL_KEY from an audience: RECEIPT has 21.
  package var audienceKeyByteCount = 32
  /// CHANNEL_WHO of one of the audience a second: cards are 18 times as long as questions. A host
  /// may ask as often as it may hand out keys.
  package var questionsPerSecond: UInt64 = 20
  /// The same at once: the members that one finds on joining.
  package var questionBurst: UInt64 = 40
  /// FEEDBACK of one member a second, and at once: ten times what is due.
  package var reportsPerSecond: UInt64 = 100
  /// CHANNEL_KEY and CHANNEL_CARD that wait for one member: they leave with the next drain.
  package var wordsPerSeat = 64
  /// Hosts of a channel: docs/protocol/sframe.md §6, and the numbers of sources.
  package var hosts = 64
  /// Seats of a channel.
  package var seats = 4096
  /// Channels with seats: as many as a rendezvous has.
  package var channels = 8192
  /// Seats that members lost, of which is remembered that no older grant opens them: removals of
  /// ten minutes, 27 a second, in some 2 MB. What has ended makes room first.
  package var endedSeats = 16_384
  /// Packets with pictures that wait to be written, and others: a frame to 4096 seats sixteen
  /// times, in 1.5 MiB each. One channel has at most as many as are left: alone half of them.
  package var waiting = 65_536
  /// Of those with pictures the ones that wait for members in one part of the address space: a key
  /// frame for two hundred of an address, and no network has more than half of the places.
  package var waitingPerPrefix = PrefixShares(host: 8192, site: 16_384, network: 32_768)
  /// Packets of one channel before the next one's, and in a row while the server has others.
  package var packetsInTurn = 64
  /// Frames of a host that are kept for copies: 80 ms of the shortest.
  package var frames = 8
  /// Bytes of one host's pictures a second, and at once: 8 Mbit/s, three times the usual most.
  package var pictureBytesPerSecond: UInt64 = 1_000_000
  /// Fragments of one host's pictures a second, and at once: 8 Mbit/s of full packets and some.
  package var fragmentsPerSecond: UInt64 = 1000
  /// Packets with pictures a second to one part of the address space; a quarter of them at once.
  /// An address has 154 Mbit/s: fifty who see one host of 3 Mbit/s.
  package var picturesPerSecond = PrefixShares(host: 16_000, site: 32_000, network: 64_000)
  /// What a member's line is taken for before its reports say, in bit/s: most bear it.
  package var downlinkPrior = 1_000_000.0
  /// The most that pictures to one member are sent at, in bit/s.
  package var downlinkMost = 20_000_000.0
  /// From one look at what members' lines carry to the next.
  package var downlinkPause = Duration.milliseconds(100)
  /// Members that get pictures: what is known of their lines takes 300 MB.
  package var downlinks = 4096
  /// Of them in one part of the address space: no network has more than half.
  package var downlinksPerPrefix = PrefixShares(host: 512, site: 1024, network: 2048)
  /// Members that get no pictures, of whose lines is known what sound they carry: 100 MB.
  package var soundLines = 4096
  /// Of them in one part of the address space: no network has more than half.
  package var soundLinesPerPrefix = PrefixShares(host: 512, site: 1024, network: 2048)
  /// How long such a line is known on when only one speaks: people take turns.
  package var soundLinePause = Duration.seconds(10)
  /// Packets with pictures before the server looks what has come: a millisecond's work, and as
  /// many as it reads at once.
  package var picturesAtOnce = 128
  /// Hosts of a channel whose pictures are forwarded: each takes 1.3 MB here and at each member.
  package var pictureSources = 16
  /// Hosts of all channels whose pictures are kept: 384 MB.
  package var pictureStores = 256
  /// Of them for one part of the address space: an office has 32, and no network more than half.
  package var pictureStoresPerPrefix = PrefixShares(host: 32, site: 64, network: 128)
  /// How long a host's pictures are kept without a new one: a key frame is due sooner.
  package var pictureIdle = Duration.seconds(10)
  /// From a host's pictures that found no memory to its next try.
  package var pictureRefusal = Duration.milliseconds(100)
  /// Fragments of one host that are kept: two seconds at 4.6 Mbit/s.
  package var fragments = 1024
  /// The same of its low stream: two seconds with 30 pictures of two fragments each.
  package var lowFragments = 128
  /// What a low stream takes at the most, in bit/s: more saves little.
  package var lowBitsPerSecond: UInt32 = 500_000
  /// How long a low stream goes on when nobody has it any more: less would begin it anew at each
  /// change.
  package var lowPause = Duration.seconds(2)
  /// Runs of fragments, fragments and key frames that one member may ask for a second, and at once.
  package var repairsPerSecond: UInt64 = 200
  /// From one request for a key frame that a host gets to the next: all receivers' are one.
  package var keyFramePause = Duration.milliseconds(300)
  /// How long a member's word about pictures holds: it comes each 2 s.
  package var wishLife = Duration.seconds(10)

  /// Silence after which a host does not count as speaking: 20 frames of 20 ms.
  package var speechPause = Duration.milliseconds(400)
  /// By how many dB a host that is forwarded counts as louder: tuned; half of the steps between
  /// voices at different distances.
  package var hysteresis = 6
  /// Loss to a member from which one copy goes with each frame, of 65 536: 1 %.
  package var lossOfOneCopy = 655
  /// The same of two copies: 5 %, of which one copy would leave one frame in 400.
  package var lossOfTwoCopies = 3277
  /// How old a copy may be, in 10 ms: what comes later is not played any more.
  package var copyAge = 20

  package init() {}
}

/// Counts against a pace (the generic cell rate algorithm, ITU-T I.371).
struct PaceMeter: BitwiseCopyable, Sendable {
  /// When an even pace would allow the next one, in ns.
  private var due: UInt64 = 0

  /// Whether `count` more fit; if so they are counted.
  mutating func admit(
    _ count: UInt64 = 1, perSecond: UInt64, burst: UInt64, now: Instant
  ) -> Bool {
    guard allows(perSecond: perSecond, burst: burst, now: now) else { return false }
    due = max(due, now.nanoseconds) &+ 1_000_000_000 / max(1, perSecond) &* count
    return true
  }

  /// Whether more fit now.
  func allows(perSecond: UInt64, burst: UInt64, now: Instant) -> Bool {
    let interval = 1_000_000_000 / max(1, perSecond)
    return max(due, now.nanoseconds) &- now.nanoseconds <= interval &* max(1, burst)
  }
}

/// What a relay did and dropped.
package struct ForwardingCounters: Equatable, Sendable {
  /// CHANNEL_AUDIO that came, and packets with it that left.
  package var audioReceived: UInt64 = 0
  package var audioForwarded: UInt64 = 0
  /// Copies that left, and frames that came only as copies.
  package var copiesSent: UInt64 = 0
  package var framesRecovered: UInt64 = 0
  /// Of a host that is not among the loudest.
  package var audioTooQuiet: UInt64 = 0
  /// Frames of silence that nobody needs.
  package var audioSilent: UInt64 = 0
  /// Frames that were not for a member whose line does not carry them.
  package var audioLeftOut: UInt64 = 0
  /// Of an audience.
  package var audioNotAllowed: UInt64 = 0
  /// Beyond the pace of a member: audio, keys, questions.
  package var tooMany: UInt64 = 0
  /// Keys for nobody that is there.
  package var wordsUndeliverable: UInt64 = 0
  package var keysForwarded: UInt64 = 0
  /// Copies of hosts' messages that left, and messages of who may send none.
  package var messagesForwarded: UInt64 = 0
  package var messagesNotAllowed: UInt64 = 0
  package var cardsSent: UInt64 = 0
  /// Fragments of pictures that came, that left, and of these such as were sent again.
  package var picturesReceived: UInt64 = 0
  package var picturesForwarded: UInt64 = 0
  package var picturesRepeated: UInt64 = 0
  /// Fragments to where as many went as may, and such of hosts that found no memory.
  package var picturesOverShare: UInt64 = 0
  package var picturesUnserved: UInt64 = 0
  /// Fragments that were not for a member whose line does not carry them.
  package var picturesLeftOut: UInt64 = 0
  /// Hosts whose memory another one got.
  package var picturesDisplaced: UInt64 = 0
  /// Requests for a key frame that another member's stood for.
  package var keyFrameRequestsMerged: UInt64 = 0
  /// Packets that found no place, or whose frame was overtaken.
  package var packetsDropped: UInt64 = 0
  /// Seats that found no place.
  package var seatsRefused: UInt64 = 0
  /// Seats of members that were removed.
  package var seatsEnded: UInt64 = 0
  /// Hosts that became audience before they had shown a grant that says so.
  package var hostsEnded: UInt64 = 0

  package init() {}

  /// Every counter with its name in Prometheus and what it counts.
  package var all: [(name: String, help: String, value: UInt64)] {
    [
      ("audio_received", "Audio frames of hosts and others.", audioReceived),
      ("audio_forwarded", "Packets with audio that left.", audioForwarded),
      ("copies_sent", "Copies of earlier frames in them.", copiesSent),
      ("frames_recovered", "Frames that came only as copies.", framesRecovered),
      ("audio_too_quiet", "Frames of hosts that are not among the loudest.", audioTooQuiet),
      ("audio_silent", "Frames of silence that nobody needs.", audioSilent),
      ("audio_left_out", "Frames that a member's line does not carry.", audioLeftOut),
      ("audio_not_allowed", "Frames of members that may not publish.", audioNotAllowed),
      ("too_many", "Frames beyond the pace of a member.", tooMany),
      ("words_undeliverable", "Keys for members that are not there.", wordsUndeliverable),
      ("keys_forwarded", "Sealed keys passed on.", keysForwarded),
      ("messages_forwarded", "Copies of hosts' messages passed on.", messagesForwarded),
      ("messages_not_allowed", "Messages of who may send none.", messagesNotAllowed),
      ("member_cards_sent", "Contact cards of members told.", cardsSent),
      ("pictures_received", "Fragments of hosts' pictures.", picturesReceived),
      ("pictures_forwarded", "Packets with a fragment that left.", picturesForwarded),
      ("pictures_repeated", "Fragments that were asked for again.", picturesRepeated),
      (
        "pictures_over_share", "Fragments beyond the pace of the receiver's address.",
        picturesOverShare
      ),
      ("pictures_left_out", "Fragments that a member's line did not carry.", picturesLeftOut),
      ("pictures_unserved", "Fragments of hosts that found no memory.", picturesUnserved),
      ("pictures_displaced", "Hosts whose memory for pictures another one got.", picturesDisplaced),
      (
        "key_frame_requests_merged", "Requests that were one with another member's.",
        keyFrameRequestsMerged
      ),
      ("packets_dropped", "Packets that found no place.", packetsDropped),
      ("seats_refused", "Seats that found no place.", seatsRefused),
      ("seats_ended", "Seats of members that were removed.", seatsEnded),
      ("hosts_ended", "Hosts that became audience without a newer grant.", hostsEnded),
    ]
  }
}
