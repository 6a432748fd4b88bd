/// The text of `earshot join --help`.
enum JoinHelp {
  static let text = """
    usage: earshot join CHANNEL [options]

    Joins a channel at the rendezvous and talks with all who are there, host to host, until q or
    SIGINT. CHANNEL is a name, or NAME@k4.public... where members need a token: the name with the
    public key that earshot token new prints. Up to 9 members talk in a mesh.

      --role ROLE          host or audience; the audience only listens   (default: host)
      --uid N              the number to have in the channel             (default: any)
      --token FILE         the token of a channel with a key; earshot token sign makes it
      --mesh               host to host; as it is without --relay
      --relay              by a relay that the rendezvous names: sealed for the members, so that it
                           hears nothing. All members of a channel go the same way
      --play FILE          as for earshot call; all members hear the same at the same time
                           (default: a test tone)
      --loop               play the file again and again
      --save FILE          what is heard of all, mixed, as .wav or .opus
      --duration SECONDS   leave after                     (default: when told to)
      --bitrate BPS        6000...128000                   (default: 32000)

    """

  /// The token of the rendezvous has another name here.
  static func online(_ options: String) -> String {
    options.replacing("--token FILE         the access", with: "--access-token FILE  the access")
  }

  static let example = """


    Keys: q leaves. SIGINT, SIGTERM and SIGHUP leave as well.

    example: earshot join tea --rendezvous 192.0.2.1:7400 --play speech.wav --save heard.wav
             earshot join tea --rendezvous 192.0.2.1:7400 --role audience --save heard.wav
    """
}
