internal import Rendezvous

/// Who is the primary of a service, by its Sentinels
/// (<https://redis.io/docs/latest/develop/reference/sentinel-clients/>).
extension RedisConnection {
  /// The server that is the primary now, as the first Sentinel says that answers; waits.
  ///
  /// - Parameter service: An address with `Place.service`; its user and database stay.
  /// - Throws: When none of them answers, or none knows the service.
  package static func primary(of service: RedisAddress) throws(RedisError) -> RedisAddress {
    guard case .service(let name, let sentinels) = service.place else { return service }
    var reasons: [String] = []
    for sentinel in sentinels {
      let address = RedisAddress(host: sentinel.host, port: sentinel.port)
      do throws(RedisError) {
        var connection = try connect(address, password: nil, patience: sentinelPatience)
        let words = ["SENTINEL", "get-master-addr-by-name", name]
        let reply = try connection.run(words)
        if case .failed = reply { throw RedisError(reply) }
        if var primary = server(in: reply) {
          (primary.user, primary.database) = (service.user, service.database)
          return primary
        }
        reasons.append("\(address) does not know \(name)")
      } catch {
        reasons.append("\(address): \(error)")
      }
    }
    throw RedisError(
      "no Sentinel says who is the primary of \(name): "
        + reasons.joined(separator: "; "))
  }

  private static func server(in reply: SharedReply) -> RedisAddress? {
    guard let list = reply.list, list.count == 2, let host = list[0].bytes,
      let port = list[1].bytes.flatMap({ UInt16(String(decoding: $0, as: UTF8.self)) })
    else { return nil }
    return RedisAddress(host: String(decoding: host, as: UTF8.self), port: port)
  }

  /// A Sentinel may not know yet that its primary is none any more.
  mutating func expectPrimary(_ address: RedisAddress) throws(RedisError) {
    let reply = try run(["ROLE"])
    if case .failed = reply { throw RedisError(reply) }
    guard reply.list?.first?.bytes == Array("master".utf8) else {
      throw RedisError("\(address) is not the primary yet, or any more")
    }
  }

  /// Milliseconds: the next one may answer at once.
  private static let sentinelPatience: Int32 = 500
}
