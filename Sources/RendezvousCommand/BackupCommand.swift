import Arguments
import Storage

/// `earshot-rendezvous backup` and `restore`: all that a server has, in one file.
struct BackupCommand {
  static let usage = """
    usage: earshot-rendezvous backup FILE [--data DIR]
           earshot-rendezvous restore FILE [--data DIR]

    Writes the server's identity, names and cards to one file, and puts them back.
    The server may run meanwhile, and need not stop. Keep the file secret: whoever
    has it can pretend to be the server.

      backup FILE   writes FILE, which must not exist yet
      restore FILE  puts the contents of FILE into a directory that has no server's
                    data yet
      --data DIR    the server's directory
                    (default: $XDG_DATA_HOME/earshot-rendezvous)
      --help        print this

    example:
      earshot-rendezvous backup /root/backup --data /var/lib/earshot-rendezvous
    """

  private let isRestore: Bool
  private let file: String
  private let data: String

  init(
    _ word: String, _ arguments: consuming Arguments, environment: [String: String]
  ) throws(UsageError) {
    isRestore = word == "restore"
    data = try ServeOptions.dataDirectory(try arguments.option("--data"), environment)
    file = try arguments.positional("FILE")
    try arguments.finish()
  }

  /// What it has done, in a sentence.
  func run() throws(StorageError) -> String {
    if isRestore {
      try ServerBackup.restore(file, to: data)
      return "restored \(data) from \(file)"
    }
    try ServerBackup.make(of: data, at: file)
    return "wrote \(file)"
  }
}
