/// The texts of `--help`.
package enum Help {
  package static let overview = """
    usage: earshot COMMAND [options]

    Encrypted calls from host to host; a rendezvous introduces the two.

      earshot keygen               makes the own identity; prints its ID and contact card
      earshot card [--qr]          prints the own contact card
      earshot contacts list        shows who is pinned; import, rename, forget, verify change it
      earshot backup FILE          seals the identity and the contacts into one file
      earshot restore FILE         makes them again from it
      earshot doctor               says what this host has and what is in the way of calls
      earshot probe TARGET         measures the line to a rendezvous or a peer
      earshot call WHO             invites, talks, prints how it was
      earshot answer               registers, and waits for calls
      earshot join CHANNEL         talks with all who are in a channel
      earshot send WHO             gives a file or a text to earshot receive
      earshot receive              waits for files and texts
      earshot token new|sign|show  who may register at a rendezvous with --require-token, off line
      earshot inspect FILE         explains a pcapng, an events file, a capture of arrivals or a
                                   packet in hex
      earshot replay FILE          hears a call again that --capture took down
      earshot completions SHELL    prints what bash, zsh or fish is to complete

    earshot COMMAND --help shows the options of each.

    Exit codes
        0  done; the call ended normally
        1  failed for another reason
        2  the command line is wrong
        3  unreachable
        4  the other side said no
        5  nobody answered in time
        6  --require not met, or below --min-mos
        7  an identity, a passphrase or an access token is not accepted
        8  a file cannot be read or written
      130  interrupted before anything began
    """

  package static func text(_ command: Subcommand) -> String {
    switch command {
    case .keygen: keygen
    case .card: card
    case .contacts: contacts
    case .backup: "usage: earshot backup" + backup
    case .restore: "usage: earshot restore" + backup
    case .doctor: doctor
    case .probe: probe + onlineOptions + probeExample
    case .call: call + playing(callDuration) + online
    case .answer: answer + playing(answerDuration) + online
    case .join: JoinHelp.text + JoinHelp.online(onlineOptions) + JoinHelp.example
    case .send:
      TransferHelp.send + TransferHelp.online(onlineOptions) + TransferHelp.sendExample
    case .receive:
      TransferHelp.receive + TransferHelp.online(onlineOptions) + TransferHelp.receiveExample
    case .token: token
    case .inspect: inspect
    case .replay: replay
    case .completions: CompletionsCommand.help
    }
  }

  private static let keygen = """
    usage: earshot keygen [--rotate] [--identity FILE] [--name NAME] [--rendezvous HOST:PORT#ID]
                          [--json]

    Makes the own identity, unless there is one, and prints its ID and contact card.

      --rotate             replace the device key of the identity, because somebody may have copied
                           it; the ID stays. Start programs that run with it anew
      --identity FILE      (default: $XDG_CONFIG_HOME/earshot/identity)
      --name NAME          the name to put on the card     (default: none)
      --rendezvous HOST:PORT#ID  where the owner is found, for the card  (default: none)
      --json               print one JSON object

    example: earshot keygen --name bob
    """

  private static let card = """
    usage: earshot card [--qr] [--identity FILE] [--name NAME] [--rendezvous HOST:PORT#ID] [--json]

    Prints the own contact card: what others need to be sure that it is you.

      --qr                 as a link, EARSHOT:ID/HOST:PORT/ID, and its QR code for a camera
      --identity FILE      (default: $XDG_CONFIG_HOME/earshot/identity)
      --name NAME          the name to put on the card     (default: none)
      --rendezvous HOST:PORT#ID  where the owner is found, for the card  (default: none)
      --json               print one JSON object

    example: earshot card --qr
    """

  private static let contacts = """
    usage: earshot contacts list [--identity FILE] [--json]
           earshot contacts forget NAME|ID|HOST:PORT
           earshot contacts verify NAME|ID [--id ID]
           earshot contacts import CARD [--as NAME]
           earshot contacts import ID --as NAME
           earshot contacts rename NAME|ID NEW

    Shows and changes who is pinned, in FILE.known-peers. A program that runs takes a change over
    before its next call.

      list                 each name and rendezvous that is pinned, and the identity it has;
                           identities without a name
      forget               the next call of the name pins it anew; of an ID all its pins go, of a
                           HOST:PORT the key of that rendezvous
      verify               you compared the short code of a call with NAME by voice; --id ID compares
                           the ID that NAME gave you with the pinned one: exit 7 if it is another;
                           key c in a call does the same
      import               keep who signed the card that earshot card prints, as verified, by the
                           name on it or --as NAME; call NAME then needs no --rendezvous where the
                           card has one. An ID is pinned by --as NAME, and not verified
      rename               call them by a name of your own; it means this identity from then on;
                           with an ID, give one to who has none
      --identity FILE      (default: $XDG_CONFIG_HOME/earshot/identity)
      --json               print one JSON object a line

    example: earshot contacts forget bob
    """

  private static let backup = """
     FILE [--identity FILE] [--passphrase-file FILE] [--json]

    backup seals the identity, the pins and the contacts into one new file; restore
    makes them from it, where there is no identity yet. Without the passphrase the
    file is of no use to anybody, you included (Argon2id with 256 MiB).

      --identity FILE      (default: $XDG_CONFIG_HOME/earshot/identity)
      --passphrase-file FILE   its first line, 8 letters or more; only its owner may
                           read it                   (default: asked at the terminal)
      --json               print one JSON object

    Exit code 7 if the passphrase is wrong. After keygen --rotate, make a new backup:
    the rendezvous refuses the key in the old one.

    example: earshot backup earshot.backup
    """

  private static let doctor = """
    usage: earshot doctor [--rendezvous HOST:PORT[#ID]]... [--identity FILE] [--token FILE]
                          [--bind HOST:PORT] [--long] [--relay HOST:PORT[#ID]]... [--turn URI]...
                          [--no-port-mapping] [--json]

    Says what this host has and what is in the way of calls, and what to do about each thing:
    addresses and families, real-time threads, locked memory, socket buffers, codecs; with a
    rendezvous also whether UDP gets there, how translators map and filter (RFC 4787), whether they
    let sockets behind them reach each other, how long packets may be, the clock, ECN, and whether
    relays can be used: earshot-relay and TURN servers. It is registered as a guest: a waiting
    answer stays.

      --rendezvous HOST:PORT[#ID]   or $EARSHOT_RENDEZVOUS; up to 4 times. A name is asked at each
                           of its addresses. Two addresses tell how a translator maps, one cannot
                           tell from which hosts it lets packets in
                           (default: only this host is examined)
      --identity FILE      (default: $XDG_CONFIG_HOME/earshot/identity)
      --token FILE         the access token, where the rendezvous wants one
      --bind HOST:PORT     local UDP address               (default: [::]:0, both families)
      --long               also how long translators keep mappings; up to two minutes more for each
                           of IPv4 and IPv6
      --relay HOST:PORT[#ID]   look for this earshot-relay, and whether it has that ID (the port:
                           7500 if left out); up to 4 times (default: the one of which the
                           rendezvous tells)
      --turn URI           try this TURN server, with --turn-user and --turn-password; up to 4 times
                           (default: those that the rendezvous names)
      --turn-ca FILE       PEM file with the authority of a TURN server over TLS
      --no-port-mapping    do not ask the router to open a port for a moment (UPnP-IGD, NAT-PMP)
      --json               print one JSON object

    Exit code 3 if no rendezvous answers, or this host has no network; with --relay alone 3 if no
    relay can be used, and 7 if it has another ID.

    example: earshot doctor --rendezvous 192.0.2.1:7400
    """

  private static let token = """
    usage: earshot token new --key FILE [--public FILE]
           earshot token sign --key FILE --sub ID --aud RENDEZVOUS-ID --expires TIME
                              [--name NAME] [--scope WORDS]
           earshot token sign --key FILE --sub ID --channel NAME@KEY --expires TIME
                              [--uid N] [--scope WORDS]
           earshot token show FILE|- [--public FILE]

    Access tokens, off line: earshot-rendezvous --require-token FILE lets only clients register that
    have one (--token FILE). They are PASETO v4.public, which other programs can sign as well.

      new                  makes a key that signs tokens; prints the public key
      sign                 prints a token for one identity at one rendezvous
      show                 prints what a token says; exit 7 if it is not valid (any more)
      --key FILE           the key that signs; only its owner may read it, and it is never replaced
      --public FILE        the public key: new writes it, show checks the signature by it
      --sub ID             whose token it is: what earshot keygen prints
      --aud RENDEZVOUS-ID  where it counts: what the rendezvous prints when it starts
      --expires TIME       for how long, like 90s, 30m, 12h or 7d; at most 366d
      --name NAME          the only name that the holder may register by  (default: any)
      --scope WORDS        what it permits; one is register  (default: register)
      --channel NAME@KEY   where it counts: a channel, and the public key of --key FILE; its words are
                           host, audience and manage        (default: host audience)
      --uid N              the only uid that the holder may have there  (default: any)

    example: earshot token new --key signing.key --public signing.pub
             earshot token sign --key signing.key --sub ID --aud ID --expires 12h > bob.token
    """

  private static let inspect = """
    usage: earshot inspect FILE|HEX|- [OTHER] [--report FILE.html] [--overwrite]

    Explains a capture (pcapng, or what --capture wrote), an events file (JSON Lines) or a packet in
    hex: what each field of the header means, what is sealed, and how the call went. FILE may hold
    the hex; - reads it from standard input. Text may have 64 MiB, with lines of 256 KiB.

      --report FILE.html   of an events file: plots of the line, its queue, loss and fallbacks
      --overwrite          --report may replace a file that is there

    example: earshot inspect call.pcapng
    """

  private static let replay = """
    usage: earshot replay FILE [options]

    Hears a call again from what arrived in it, as --capture of call and answer took it down: without
    options bit for bit what was heard, with them what would have been.

      --save FILE          what is heard, as .wav or .opus
      --save-all           however long it is (default: 100 times the recording's bytes, and 64 MiB
                           in any case; more is an error)
      --least-delay MS     0...1000: the least delay to aim at  (default: 0)
      --most-delay MS      0...1000: the greatest               (default: 1000)
      --without-copies     as if no packet had carried copies of earlier frames
      --without-retransmissions   as if nothing had been sent again
      --overwrite          --save may replace a file that is there
      --json               print one JSON object

    example: earshot replay call.arrivals --most-delay 40 --save shorter.wav
    """

  private static let probe = """
    usage: earshot probe HOST[:PORT]|NAME|ID|LINK|CARD [options]
           earshot probe --history [NAME]

    Measures the line to a rendezvous (HOST:PORT) or to a peer that answers, in both directions, and
    says what it is fit for: delay, loss, jitter and what it carries, idle and full. Never sends
    more than expected. docs/probe.md explains the result. A LINK, EARSHOT:ID/HOST:PORT/ID, is what
    earshot card --qr prints; it and a CARD say at which rendezvous their owner is.

      --uplink  --downlink          one direction alone     (default: both)
      --expected-uplink BPS         100K...100M: the most that is tested (default: 2500000)
      --expected-downlink BPS       the same from the other end (default: 2500000)
      --duration SECONDS            4...30; longer narrows the intervals (default: 8)
      --watch                       a grade every 2 s, until SIGINT; no bandwidth
      --every TIME                  whole probes, one so often, until SIGINT: up to 24h, and a
                                    second more than --duration at least
      --for TIME                    with --every or --watch: begin no further one after so long
      --interval SECONDS            0.1...10: also a line for each part of the test so long
      --both-at-once                load both directions together, not one after the other
      --dscp N|NAME                 0...63, EF, CS0...CS7, AF11...AF43: what our packets bear
      --packets FILE                a line for each test packet: sent, arrived, size, ECN
      --csv FILE                    a line of comma-separated values for each probe
      --history                     what probes said, and what the calls after them had; with
                                    --identity, --json, --report
      --require voice|video|hd      exit 6 if the line is not clearly fit for it

    """

  private static let probeExample = """


    SIGINT ends the probe and prints what is known so far; keys: q does the same.

    example: earshot probe 192.0.2.1:7400
             earshot probe bob --rendezvous 192.0.2.1:7400 --require video --report line.html
    """

  private static let call = """
    usage: earshot call NAME|ID|LINK|CARD [options]

    Invites, talks, prints how it was. With --duration it hangs up after that; otherwise when the
    played file has been heard to its end; with the test tone it talks until q or SIGINT.
    A CARD is what earshot card prints, and a LINK, EARSHOT:ID/HOST:PORT/ID, what earshot card --qr
    does. Both say at which rendezvous their owner is; a card is signed, and may be kept.

      --ring-timeout SECONDS   how long it may ring        (default: 15)
      --invite NAME|ID         once the call is connected, invite this one as well: the call
                               becomes a channel, host to host, of 8 at the most; repeatable
      --from WHO               who is talked with where the call becomes a channel: known (pinned),
                               verified, names that are pinned, or IDs, with commas between. On a
                               terminal you are asked before      (default: everybody)

    """

  private static let answer = """
    usage: earshot answer [options]

    Registers, and waits for calls; a rendezvous that is away is waited for.

      --accept             accept every call               (without a terminal this or
      --reject REASON      refuse every call                --reject has to be said)
      --ask                ask, y or n                     (default on a terminal)
      --from WHO           who may ring, and is talked with where a call becomes a channel: known
                           (pinned), verified, names that are pinned, or IDs, with commas
                           between                         (default: everybody)
      --presence WHO       who may learn that this program is online, and call: everybody, or
                           contacts (pinned)               (default: everybody)
      --ring-for SECONDS   accept or refuse after so long  (default: at once; asked: never)
      --calls N            leave after N calls             (default: run on)
      --echo               send back what is heard instead of a sound: callers hear themselves,
                           for 5 minutes a call unless --duration says otherwise
      --echo-delay SECONDS   2...10                        (default: 3)
      --exec PROGRAM       start it when a call rings and when it has ended; a path, or a name on
                           PATH. Its environment has EARSHOT_EVENT (ringing, ended), EARSHOT_CALL,
                           EARSHOT_PEER, EARSHOT_PEER_ID, EARSHOT_TRUST (verified, pinned, new,
                           changed), and of an ended call EARSHOT_OUTCOME, EARSHOT_REASON and
                           EARSHOT_SECONDS. After 60 s it is ended (docs/answering.md)
      --fail-fast          end with 3 when nothing listens at the rendezvous (after a second), or
                           nothing answers for 10 s  (default: wait, however long it is away)

    """

  private static let callDuration =
    "hang up after      (default: when the played file, or the video's, ends)"
  private static let answerDuration = "hang up after      (default: when the caller hangs up)"

  /// The options of sound and video, with what `--duration` means.
  private static func playing(_ duration: String) -> String {
    sound.replacing("{duration}", with: duration)
  }

  private static let sound = """
      --play FILE          WAV, FLAC, Ogg, Opus, MP3, AIFF; - is raw s16le on standard
                           input, from a microphone or a file (default: a test tone)
      --play-format RATE[/CHANNELS]  of --play -           (default: 48000/1)
      --loop               play the files again and again
      --mute               begin muted; the other side is told
      --save FILE          what is heard, as .wav or .opus; {n} is the number of the call, or the
                           next that is free; no sound, no file; - is raw s16le, 48 kHz,
                           mono, on standard output: messages go to standard error
      --capture FILE       what arrives, for earshot replay; as private as the call
      --duration SECONDS   {duration}
      --bitrate BPS        6000...510000                   (default: 32000)
      --frame MS           10, 20, 40 or 60                (default: 20)
      --no-fec             send no copies of what may get lost
      --no-nack            do not ask again for what got lost
      --video FILE|-|test  y4m (YUV4MPEG2, 8 bits 4:2:0), sent at its frame rate; - is standard
                           input, test a moving picture with its number and time
                           (default: none)
      --save-video FILE    what is seen, as .ivf (VP8); {n} as above
      --max-video-bitrate BPS  30000...20000000            (default: 8000000)
      --fallback WHAT      audio-only: video gives way where the line does not hold it, and returns;
                           disabled: it goes on             (default: audio-only)
      --extension JSON     data for the other side, at most 1024 bytes
      --min-mos POINTS     1...5: exit 6 when it sounded worse; a muted side is not judged
      --rejoin MINUTES     0.5...20: wait for the other side that is heard no more, if it says
                           the same                        (default: hang up after 20 s)

    """

  private static let onlineOptions = """
      --rendezvous HOST[:PORT][#ID]   or $EARSHOT_RENDEZVOUS; port 7400; #ID pins its identity
      --identity FILE      (default: $XDG_CONFIG_HOME/earshot/identity); whom it
                           has seen before, and where, it keeps in FILE.known-peers
      --name NAME          the name to be called by: 1 to 63 of A-Z a-z 0-9 . _ -
      --bind HOST:PORT     local UDP address               (default: [::]:0, both families)
      --json               standard output becomes JSON Lines
      --events FILE        the same lines to FILE
      --report FILE.html   a page with plots at the end
      --pcap FILE.pcapng   the decrypted media as RTP and RTCP, for
                           wireshark --enable-heuristic rtp_udp FILE.pcapng
      --log-level LEVEL    error, warning, info or debug   (default: warning)
      --quiet              print nothing but errors
      --token FILE         the access token, where the rendezvous wants one; a newer one in FILE is
                           taken over while the program runs   (default: none)
      --turn URI           a TURN server, turn:HOST:PORT, turn:HOST?transport=tcp or turns:HOST, by
                           which calls go where no direct path is found; up to 4 times
                           (default: those that the rendezvous names)
      --turn-user U        the user's name there; once, or once for each server
      --turn-password P    and the password
      --turn-ca FILE       authorities for turns:, PEM      (default: the system's)
      --paths WHEN         early or on-accept: when callers learn this host's addresses (default:
                           early if pinned or called before, else on-accept)
      --no-port-mapping    do not ask the router to open a port (UPnP-IGD, NAT-PMP)
      --overwrite          what is saved or written may replace files that are there
                           (default: they are refused before anybody is called)
    """

  private static let online =
    onlineOptions + """


      Keys while a call runs on a terminal: m mute, v video on and off, i invite another one, q hang
      up, s statistics, c the other side has the same short code, ? all keys. SIGINT, SIGTERM and SIGHUP hang up and still write the report; SIGUSR1 prints
      statistics.

      example: earshot call bob --rendezvous 192.0.2.1:7400 --play speech.wav --save heard.wav
               earshot answer --name bob --rendezvous 192.0.2.1:7400 --accept
      """
}
