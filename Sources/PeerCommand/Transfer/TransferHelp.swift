/// The texts of `earshot send --help` and `earshot receive --help`.
enum TransferHelp {
  static let send = """
    usage: earshot send NAME|ID|LINK|CARD --file FILE | --text TEXT [options]

    Gives a file or a text to earshot receive of somebody else: whole, checked by its BLAKE2b hash,
    and never over a file that is there. It goes as fast as the line lets it, behind the sound of
    calls. After an interruption it goes on where it was, also when the command is run again.

      --file FILE          what to send
      --text TEXT          the same, of up to 65536 bytes: it is shown there
      --as NAME            the file's name there           (default: its name here)
      --ring-timeout SECONDS   how long nobody may take it (default: 15)
      --retry-for SECONDS  call again after a call that broke, until nothing has arrived for so long
                           (default: 120)

    """

  static let sendExample = """


    Exit code 4 where the other side says no: it does not know this side, has a file of that name, or
    no room; 1 where what arrived is not what was offered.

    example: earshot send bob --file talk.wav --rendezvous 192.0.2.1:7400
             earshot send bob --text "call me at four" --rendezvous 192.0.2.1:7400
    """

  static let receive = """
    usage: earshot receive [options]

    Waits for what earshot send gives, and puts files into one folder. A file comes under its last
    name, without dots in front. It never replaces one, and is there only when it is whole.

      --into DIR           where files go; --dir is the same (default: this folder)
      --from WHO           known (pinned), verified (by code or card), names or IDs, commas between
                           (default: known)
      --quota BYTES        how much one run takes, as 500M or 2G; parts in the folder count
                           (default: 1G)
      --most-files N       how many files one run takes, empty ones too (default: 1000)
      --once               leave after one file or text

    """

  static let receiveExample = """


    What came of an interrupted file is kept as .earshot-*.part in the folder; it goes on when the
    same is sent again. Remove it if it never is. SIGINT, SIGTERM and SIGHUP leave.

    example: earshot receive --rendezvous 192.0.2.1:7400 --name bob --into Downloads
             earshot receive --rendezvous 192.0.2.1:7400 --name bob --from alice,carol --once
    """

  /// Without what a transfer has not.
  static func online(_ options: String) -> String {
    options.split(separator: "\n", omittingEmptySubsequences: false)
      .filter { line in
        !["--report FILE", "--pcap FILE", "wireshark"].contains { line.contains($0) }
      }
      .joined(separator: "\n")
  }
}
