import Arguments
import Redis

/// `--redis` and what goes with it.
struct RedisOptions: Equatable {
  var address: RedisAddress
  /// The file with the password; `nil` = `password` has it, if there is one.
  var passwordFile: String?
  var password: [UInt8]?
  /// The file with the secret that all nodes have.
  var secretFile: String

  /// `nil` where none of them is given.
  init?(
    _ arguments: inout Arguments, environment: [String: String]
  ) throws(UsageError) {
    let url = try arguments.option("--redis")
    let file = try arguments.option("--redis-password-file")
    let secret = try arguments.option("--cluster-secret")
    guard let url else {
      guard file == nil, secret == nil else {
        throw UsageError(
          "--redis-password-file and --cluster-secret are for --redis.",
          advice: "Write --redis redis://HOST --cluster-secret FILE, or leave them out.")
      }
      return nil
    }
    guard let address = RedisAddress(url) else {
      throw UsageError(
        "--redis wants an address like redis://127.0.0.1:6379, unix:///run/redis/redis.sock or "
          + "sentinel://HOST,HOST/NAME.",
        advice: "A password never stands there: give it with --redis-password-file.")
    }
    guard let secret else {
      throw UsageError(
        "--redis needs --cluster-secret FILE, the same file at all nodes.",
        advice: "Make one with: openssl rand -hex 32 >FILE; chmod 600 FILE")
    }
    self.address = address
    passwordFile = file
    password = file == nil ? environment[Self.passwordVariable].map { Array($0.utf8) } : nil
    secretFile = secret
  }

  static let passwordVariable = "EARSHOT_REDIS_PASSWORD"
}
