/// The text of `earshot join --help`.
enum JoinHelp {
  static let text = """
    usage: earshot join CHANNEL [options]

    Joins a channel at the rendezvous and talks with all who are there until q or SIGINT. CHANNEL is
    a name, or NAME@k4.public... where members need a token: the name with the public key that
    earshot token new prints. Up to 4 hosts and 8 members talk host to host, in a mesh. Beyond it
    audio goes by a relay, if the rendezvous knows one, else host to host up to 17 members.

      --role ROLE          host or audience; the audience only listens   (default: host)
      --uid N              the number to have in the channel             (default: any)
      --token FILE         the token of a channel with a key; earshot token sign makes it. A newer
                           one in FILE is taken over in the 30 s before the end, without a gap
      --also ROOM[:ROLE[:FILE]]  a further channel at the same time; may be given more than once.
                           What is played goes to one of them. FILE has its token, if it has a
                           key. A channel that ends leaves the others as they are; the exit code
                           is that of the first one that failed        (default role: audience)
      --mesh               always host to host, up to 17 members
      --relay              always by a relay that the rendezvous names: sealed for the members, so
                           that it hears nothing. Members with --mesh or --relay do not meet others
      --relay-only         the same, and never host to host: members learn no address of this host.
                           While the relay is away nothing is heard; it is waited for
      --loudest N          by a relay: of more hosts who speak at once hear the N loudest, 1...64
                           (default: as the relay is set, usually 3)
      --play FILE          as for earshot call; all members hear the same at the same time. Of the
                           audience it is heard once it is host  (default: a test tone)
      --loop               play the file again and again
      --mute               begin muted; the key m ends it
      --save FILE          what is heard of all, mixed, as .wav or .opus
      --save-each FILE     what is heard of each member, {uid} in the name is its number, {room} the
                           channel; with --also both are needed
      --video FILE|test    what is shown to each member, as for earshot call; by a relay it goes
                           out once, while somebody wants it
      --save-video FILE    what is seen of each member, as .ivf; the name as of --save-each
      --max-video-bitrate BPS  to each member               (default: 2500000)
      --fallback MODE      as for earshot call                (default: audio-only)
      --text -             each line of standard input is a message to all who are there, of at
                           most 65536 bytes; keys are not read then
      --duration SECONDS   leave after                     (default: when told to)
      --bitrate BPS        6000...128000                   (default: 32000)

    """

  /// The token of the rendezvous has another name here.
  static func online(_ options: String) -> String {
    options.replacing("--token FILE         the access", with: "--access-token FILE  the access")
  }

  static let keys =
    "Keys: m mute, v video on and off, s statistics, t write a line to all, q leave, "
    + "r the other role, x remove a member, b ban one for an hour"

  static let example = """


    Keys: m mutes, v turns the own video off and on, s shows statistics, t writes a line to all (a
    host; Enter sends it), q leaves, r changes the own role, x removes a member and b bans one for
    an hour (both need the word manage on the own token), ? shows them. A terminal shows who is
    there, who speaks, and host to host how the line to each one is; at the end a row a member, as
    the page of --report has it. SIGINT, SIGTERM and SIGHUP leave as well, SIGUSR1 shows statistics,
    SIGUSR2 changes the role.

    example: earshot join tea --rendezvous 192.0.2.1:7400 --play speech.wav --save heard.wav
             earshot join tea --rendezvous 192.0.2.1:7400 --role audience --save heard.wav
    """
}
