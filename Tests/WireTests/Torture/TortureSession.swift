/// First bytes and lengths, payloads of INIT, contact cards (docs/protocol/session.md §1, §2,
/// README.md §4).
extension TortureTable {
  static let packets = TortureTable(
    reader: .packet,
    text: """
      refuse | nothing |
      refuse | 00 | 00*40
      refuse | STUN | 0001 00*18
      refuse | DTLS | 16fefd 00*40
      refuse | 5f | 5f 00*40
      refuse | DATA too short | 60 00*23
      take   | DATA without a frame | 60 00*24
      take   | DATA, all masked bits | 7f ff*24
      take   | the longest DATA | 60 00*1199
      refuse | DATA too long | 60 00*1200
      refuse | RTP | 80 00*40
      refuse | c0 | c0 00*1199
      take   | INIT | c1 01 01 01 4:7 00*1192
      refuse | INIT too short | c1 01 01 01 4:7 00*1191
      refuse | INIT too long | c1 01 01 01 4:7 00*1193
      take   | RESP | c2 01 01 01 4:7 4:8 00*188
      refuse | RESP too short | c2 01 01 01 4:7 4:8 00*187
      refuse | RESP too long | c2 01 01 01 4:7 4:8 00*189
      take   | COOKIE | c3 01 01 01 4:7 00*56
      refuse | COOKIE too short | c3 01 01 01 4:7 00*55
      refuse | COOKIE too long | c3 01 01 01 4:7 00*57
      take   | RESET | c4 01 01 00 4:7 00*32
      refuse | RESET too short | c4 01 01 00 4:7 00*31
      refuse | RESET too long | c4 01 01 00 4:7 00*33
      take   | VERSION | c5 01 01 00 4:7 01 02 00*6
      refuse | VERSION too short | c5 01 01 00 4:7 01 02 00*5
      refuse | VERSION too long | c5 01 01 00 4:7 01 02 00*7
      take   | CARD_REQUEST | c6 01 00 00 8:7 00*500
      refuse | CARD_REQUEST too short | c6 01 00 00 8:7 00*499
      refuse | CARD_REQUEST too long | c6 01 00 00 8:7 00*501
      refuse | CARD without a card | c7 01 00 00 8:7 2:0
      refuse | CARD, a card too long | c7 01 00 00 8:7 2:331 aa*331
      refuse | c8 | c8 00*1199
      refuse | ff | ff*1200
      """)

  static let initPayloads = TortureTable(
    reader: .initPayload,
    text: """
      whole  | with a card | $tai 01 2:194 $card 00*855
      refuse | without a card | $tai 00*1052
      refuse | a billion nanoseconds | 40000000 6b49d200 3b9aca00 01 2:194 $card 00*855
      take   | the last nanosecond | 40000000 6b49d200 3b9ac9ff 01 2:194 $card 00*855
      take   | a name | $tai 01 2:194 $card 02 2:3 'bob' 00*849
      refuse | an empty name | $tai 01 2:194 $card 02 2:0 00*852
      refuse | a name with a space | $tai 01 2:194 $card 02 2:3 'b b' 00*849
      refuse | two names | $tai 01 2:194 $card 02 2:3 'bob' 02 2:3 'bob' 00*843
      take   | the longest token | $tai 01 2:194 $card 03 2:512 aa*512 00*340
      refuse | a token too long | $tai 01 2:194 $card 03 2:513 aa*513 00*339
      take   | a presence | $tai 01 2:194 $card 08 2:9 8:5 01 00*843
      refuse | presence ID 0 | $tai 01 2:194 $card 08 2:9 8:0 01 00*843
      refuse | presence ID of ones | $tai 01 2:194 $card 08 2:9 ff*8 01 00*843
      refuse | a presence of kind 3 | $tai 01 2:194 $card 08 2:9 8:5 03 00*843
      refuse | a presence of eight bytes | $tai 01 2:194 $card 08 2:8 8:5 00*844
      refuse | padding that is not zero | $tai 01 2:194 $card 00*854 01
      refuse | half a card | $tai 01 2:97 00*952
      """)

  static let cards = TortureTable(
    reader: .card,
    text: """
      whole  | without home and name | $ecc1 8:10 8:20 8:1 00*32 00 2:0 00 00*64
      whole  | with a home | $ecc1 8:10 8:20 8:1 $id 09 'localhost' 2:7400 00 00*64
      whole  | the longest home | $ecc1 8:10 8:20 8:1 $id 40 61*64 2:7400 00 00*64
      refuse | a home too long | $ecc1 8:10 8:20 8:1 $id 41 61*65 2:7400 00 00*64
      refuse | a home without ID | $ecc1 8:10 8:20 8:1 00*32 01 'h' 2:7400 00 00*64
      refuse | a home without host | $ecc1 8:10 8:20 8:1 $id 00 2:7400 00 00*64
      refuse | a home without port | $ecc1 8:10 8:20 8:1 $id 01 'h' 2:0 00 00*64
      refuse | a port alone | $ecc1 8:10 8:20 8:1 00*32 00 2:1 00 00*64
      refuse | a host that is not UTF-8 | $ecc1 8:10 8:20 8:1 $id 02 c328 2:1 00 00*64
      whole  | the longest name | $ecc1 8:10 8:20 8:1 00*32 00 2:0 3f 61*63 00*64
      refuse | a name too long | $ecc1 8:10 8:20 8:1 00*32 00 2:0 40 61*64 00*64
      refuse | a name with a colon | $ecc1 8:10 8:20 8:1 00*32 00 2:0 03 'a:b' 00*64
      refuse | ECC2 | 'ECC2' 01 00 $id $id 8:10 8:20 8:1 00*32 00 2:0 00 00*64
      refuse | version 0 | 'ECC1' 00 00 $id $id 8:10 8:20 8:1 00*32 00 2:0 00 00*64
      refuse | version 2 | 'ECC1' 02 00 $id $id 8:10 8:20 8:1 00*32 00 2:0 00 00*64
      refuse | flags | 'ECC1' 01 01 $id $id 8:10 8:20 8:1 00*32 00 2:0 00 00*64
      whole  | valid for a second | $ecc1 8:10 8:10 8:1 00*32 00 2:0 00 00*64
      refuse | ends before it begins | $ecc1 8:10 8:9 8:1 00*32 00 2:0 00 00*64
      whole  | valid for 60 days | $ecc1 8:0 8:5184000 8:1 00*32 00 2:0 00 00*64
      refuse | valid for a second more | $ecc1 8:0 8:5184001 8:1 00*32 00 2:0 00 00*64
      refuse | valid for ever | $ecc1 8:0 ff*8 8:1 00*32 00 2:0 00 00*64
      """)
}
