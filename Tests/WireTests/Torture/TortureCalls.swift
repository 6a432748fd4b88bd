/// Rendezvous messages, signalling and what is sealed in it, call control
/// (docs/protocol/rendezvous.md §3, calling.md §2, §5).
extension TortureTable {
  static let rendezvous = TortureTable(
    reader: .rendezvous,
    text: """
      refuse | nothing |
      refuse | type 0 | 00 00*40
      refuse | type 6 | 06 00*40
      refuse | type 255 | ff
      whole  | LOOKUP of a name | 01 4:9 01 03 'bob'
      whole  | LOOKUP of the shortest name | 01 4:9 01 01 'b'
      whole  | LOOKUP of the longest name | 01 4:9 01 3f 62*63
      refuse | LOOKUP of a name too long | 01 4:9 01 40 62*64
      refuse | LOOKUP of no name | 01 4:9 01 00
      refuse | LOOKUP of a name with a space | 01 4:9 01 03 'b b'
      refuse | LOOKUP of a name with a zero | 01 4:9 01 03 620062
      refuse | LOOKUP of a name that is not ASCII | 01 4:9 01 04 62c3b662
      refuse | LOOKUP of a name that is not UTF-8 | 01 4:9 01 02 c328
      refuse | LOOKUP of a name that reads as an ID | 01 4:9 01 34 79*52
      whole  | LOOKUP of 51 such letters | 01 4:9 01 33 79*51
      refuse | LOOKUP, name beyond the message | 01 4:9 01 04 'bob'
      whole  | LOOKUP of an ID | 01 4:9 02 $id
      refuse | LOOKUP of half an ID | 01 4:9 02 22*16
      refuse | LOOKUP, kind 0 | 01 4:9 00 03 'bob'
      refuse | LOOKUP, kind 3 | 01 4:9 03 $id
      whole  | LOOKUP_RESULT, online | 02 4:9 00 2:3 010203
      whole  | LOOKUP_RESULT, the longest card | 02 4:9 01 2:330 aa*330
      refuse | LOOKUP_RESULT, a card too long | 02 4:9 01 2:331 aa*331
      refuse | LOOKUP_RESULT, online without a card | 02 4:9 00 2:0
      refuse | LOOKUP_RESULT, offline without a card | 02 4:9 01 2:0
      whole  | LOOKUP_RESULT, unknown | 02 4:9 02 2:0
      refuse | LOOKUP_RESULT, unknown with a card | 02 4:9 02 2:1 aa
      whole  | LOOKUP_RESULT, too many | 02 4:9 03 2:0
      whole  | LOOKUP_RESULT, a node that cannot tell | 02 4:9 04 2:0
      refuse | LOOKUP_RESULT, status 5 | 02 4:9 05 2:0
      refuse | LOOKUP_RESULT, card beyond the message | 02 4:9 00 2:4 010203
      whole  | FORWARD | 03 11*16 $id 8:0 2:8 2:3 010203
      whole  | FORWARD of the longest body | 03 11*16 $id 8:0 2:8 2:4096 aa*4096
      whole  | FORWARD of a body too long, which has an answer | 03 11*16 $id 8:0 2:8 2:4097 aa*4097
      refuse | FORWARD, body beyond the message | 03 11*16 $id 8:0 2:8 2:4 010203
      whole  | FORWARDED | 04 11*16 $id 8:9 2:8 2:3 010203
      whole  | FORWARDED, the longest body | 04 11*16 $id 8:9 2:8 2:4096 aa*4096
      refuse | FORWARDED, a body too long | 04 11*16 $id 8:9 2:8 2:4097 aa*4097
      take   | FORWARDED, with the sender's name | 04 11*16 $id 8:9 2:8 2:3 010203 03 626f62
      refuse | FORWARDED, with an empty name | 04 11*16 $id 8:9 2:8 2:3 010203 00
      whole  | FORWARD_RESULT, to one | 05 11*16 00 01
      whole  | FORWARD_RESULT, to eight | 05 11*16 00 08
      refuse | FORWARD_RESULT, forwarded to none | 05 11*16 00 00
      whole  | FORWARD_RESULT, not online | 05 11*16 01 00
      refuse | FORWARD_RESULT, not online, to one | 05 11*16 01 01
      whole  | FORWARD_RESULT, not allowed | 05 11*16 04 00
      whole  | FORWARD_RESULT, a node that cannot tell | 05 11*16 05 00
      refuse | FORWARD_RESULT, status 6 | 05 11*16 06 00
      whole  | TOKEN | 07 2:4 'v4.x'
      whole  | TOKEN of the longest text | 07 2:512 41*512
      refuse | TOKEN of a text too long | 07 2:513 41*513
      refuse | TOKEN beyond the message | 07 2:5 'v4.x'
      whole  | TOKEN_RESULT, accepted for a minute | 08 00 4:60000
      whole  | TOKEN_RESULT, expired | 08 07 4:0
      whole  | TOKEN_RESULT, too many | 08 ff 4:0
      refuse | TOKEN_RESULT, fault 8 | 08 08 4:0
      refuse | TOKEN_RESULT, refused for a while | 08 01 4:1
      """)

  static let signals = TortureTable(
    reader: .signal,
    text: """
      refuse | nothing |
      refuse | a head alone | 01 05 $call
      take   | INVITE | 01 01 $call 4:7 00*192
      take   | INVITE, the longest body | 01 01 $call 4:7 00*4074
      refuse | INVITE, a body too long | 01 01 $call 4:7 00*4075
      refuse | INVITE, Noise message too short | 01 01 $call 4:7 00*191
      refuse | INVITE, connection ID 0 | 01 01 $call 4:0 00*192
      refuse | version 0 | 00 01 $call 4:7 00*192
      refuse | version 2 | 02 01 $call 4:7 00*192
      refuse | type 0 | 01 00 $call 4:7 00*192
      refuse | type 11 | 01 0b $call 4:7 00*192
      refuse | type 255 | 01 ff $call 4:7 00*192
      whole  | RINGING | 01 02 $call 00 00*24 2:28 00*28 $mac
      whole  | RINGING, prepared | 01 02 $call 01 00*24 2:28 00*28 $mac
      refuse | RINGING, details too short | 01 02 $call 00 00*24 2:27 00*27 $mac
      refuse | RINGING, details beyond the body | 01 02 $call 00 00*24 2:200 00*28 $mac
      take   | ACCEPT | 01 03 $call 00*94
      refuse | ACCEPT, Noise message too short | 01 03 $call 00*93
      take   | REJECT | 01 04 $call 00*94
      refuse | REJECT, Noise message too short | 01 04 $call 00*93
      whole  | CANCEL | 01 05 $call 06 8:0 $mac
      whole  | CANCEL, a reason of later versions | 01 05 $call ff 8:0 $mac
      whole  | TIMEOUT | 01 06 $call 04 8:5 $mac
      whole  | HANGUP | 01 07 $call 05 00 $mac
      whole  | HANGUP with a text | 01 07 $call 05 05 'adieu' $mac
      whole  | HANGUP with the longest text | 01 07 $call 05 80 61*128 $mac
      refuse | HANGUP with a text too long | 01 07 $call 05 81 61*129 $mac
      refuse | HANGUP, text is not UTF-8 | 01 07 $call 05 02 c328 $mac
      refuse | HANGUP, text takes the MAC's place | 01 07 $call 05 06 'adieu' 00*15
      whole  | RECEIPT for ACCEPT | 01 08 $call 03 8:0 $mac
      whole  | RECEIPT for HANGUP | 01 08 $call 07 8:0 $mac
      refuse | RECEIPT for INVITE | 01 08 $call 01 8:0 $mac
      refuse | RECEIPT for RINGING | 01 08 $call 02 8:0 $mac
      refuse | RECEIPT for RECEIPT | 01 08 $call 08 8:0 $mac
      refuse | RECEIPT for type 0 | 01 08 $call 00 8:0 $mac
      refuse | RECEIPT for type 99 | 01 08 $call 63 8:0 $mac
      whole  | UNSUPPORTED | 01 09 $call 01 03
      refuse | UNSUPPORTED, highest below lowest | 01 09 $call 03 01
      whole  | CANDIDATES | 01 0a $call 4:1 00*24 2:39 00*39
      refuse | CANDIDATES, too short for one | 01 0a $call 4:1 00*24 2:38 00*38
      refuse | CANDIDATES beyond the body | 01 0a $call 4:1 00*24 2:40 00*39
      """)

  static let control = TortureTable(
    reader: .control,
    text: """
      refuse | nothing |
      refuse | type 0 | 00
      refuse | type 6 | 06 00
      whole  | CONFIRM | 01 aa*32
      whole  | HANGUP | 02 05 00
      whole  | HANGUP with the longest text | 02 05 80 61*128
      refuse | HANGUP with a text too long | 02 05 81 61*129
      refuse | HANGUP, text is not UTF-8 | 02 05 01 ff
      whole  | MEDIA_STATE, nothing | 03 00
      whole  | MEDIA_STATE, all bits | 03 ff
      whole  | MEDIA_WANTED | 04 03
      whole  | VIDEO_TEST | 05 4:300000
      whole  | VIDEO_TEST ends | 05 4:0
      """)

  static let invites = TortureTable(
    reader: .invite,
    text: """
      take   | with a card | $invite 01 2:3 010203
      refuse | without a card | $invite
      refuse | with an empty card | $invite 01 2:0
      take   | the longest card | $invite 01 2:330 aa*330
      refuse | a card too long | $invite 01 2:331 aa*331
      refuse | two cards | $invite 01 2:1 aa 01 2:1 aa
      refuse | a card beyond the payload | $invite 01 2:4 010203
      refuse | a type without a length | $invite 01 2:1 aa 04
      refuse | half a length | $invite 01 2:1 aa 04 00
      refuse | ring connection ID 0 | $call 8:1 00*32 00*32 4:0 4:0 01 2:1 aa
      refuse | half a commitment | $call 8:1 00*16
      take   | an unknown type is skipped | $invite 01 2:1 aa c8 2:2 ffff
      take   | an unknown type twice | $invite 01 2:1 aa c8 2:0 c8 2:0
      take   | an end and zeros | $invite 01 2:1 aa 00*50
      refuse | an end and something else | $invite 01 2:1 aa 00*50 01
      refuse | the card behind the end | $invite 00 01 2:1 aa
      take   | one candidate | $invite 01 2:1 aa 04 2:20 01 $v4
      take   | eight candidates | $invite 01 2:1 aa 04 2:160 $eight
      refuse | nine candidates | $invite 01 2:1 aa 04 2:180 $eight 01 $v4
      refuse | candidates of no bytes | $invite 01 2:1 aa 04 2:0
      refuse | a candidate of 19 bytes | $invite 01 2:1 aa 04 2:19 01 04 7f000001 00*12 00
      refuse | a candidate of kind 0 | $invite 01 2:1 aa 04 2:20 00 $v4
      refuse | a candidate of kind 4 | $invite 01 2:1 aa 04 2:20 04 $v4
      refuse | a candidate of family 5 | $invite 01 2:1 aa 04 2:20 01 05 7f000001 00*12 2:1
      take   | media | $invite 01 2:1 aa 06 2:3 010000
      take   | a codec of later versions | $invite 01 2:1 aa 06 2:6 ff0000 010001
      refuse | media of four bytes | $invite 01 2:1 aa 06 2:4 01000000
      take   | the longest extension | $invite 01 2:1 aa 05 2:1024 61*1024
      refuse | an extension too long | $invite 01 2:1 aa 05 2:1025 61*1025
      refuse | an extension that is not UTF-8 | $invite 01 2:1 aa 05 2:2 c328
      """)

  static let ringDetails = TortureTable(
    reader: .ringDetails,
    text: """
      take   | without candidates | 4:9 8:5
      take   | with a candidate | 4:9 8:5 04 2:20 01 $v4
      refuse | ring connection ID 0 | 4:0 8:5
      refuse | half a program | 4:9 00*4
      refuse | candidates twice | 4:9 8:5 04 2:20 01 $v4 04 2:20 01 $v4
      """)

  static let answers = TortureTable(
    reader: .answer,
    text: """
      take   | accepted | $call 01 00 4:9 8:0 00*16
      refuse | accepted, connection ID 0 | $call 01 00 4:0 8:0 00*16
      take   | rejected | $call 02 01 4:0 8:0 00*16
      refuse | rejected, with a connection ID | $call 02 01 4:9 8:0 00*16
      refuse | verdict 0 | $call 00 00 4:9 8:0 00*16
      refuse | verdict 3 | $call 03 00 4:9 8:0 00*16
      refuse | half of r_B | $call 01 00 4:9 8:0 00*8
      take   | rejected, with the longest text | $call 02 01 4:0 8:0 00*16 07 2:128 61*128
      refuse | rejected, with a text too long | $call 02 01 4:0 8:0 00*16 07 2:129 61*129
      refuse | rejected, text is not UTF-8 | $call 02 01 4:0 8:0 00*16 07 2:2 c328
      refuse | two texts | $call 02 01 4:0 8:0 00*16 07 2:1 61 07 2:1 61
      """)
}
