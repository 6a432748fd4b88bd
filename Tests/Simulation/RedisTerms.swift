/// What every script that judges names is told: now · life · names of one · names · reservation.
struct RedisTerms {
  let now, life, namesOfOne, names, reservation: UInt64

  init(_ words: ArraySlice<[UInt8]>) {
    let numbers = words.prefix(5).map { UInt64(String(decoding: $0, as: UTF8.self)) ?? 0 }
    (now, life, namesOfOne) = (numbers[0], numbers[1], numbers[2])
    (names, reservation) = (numbers[3], numbers[4])
  }
}
