/// DATA's frames (docs/protocol/frames.md, probe.md §1).
extension TortureTable {
  static let frames = TortureTable(
    reader: .frames,
    text: """
      whole  | PING | 01 8:7
      take   | PING and PING | 01 8:7 01 8:8
      take   | PING and PADDING | 01 8:7 00*20
      refuse | PING and an unknown type | 01 8:7 16
      take   | nothing |
      take   | PADDING | 00
      take   | PADDING to the longest packet | 00*1175
      refuse | PADDING whose last byte is not zero | 00*40 01
      refuse | a frame behind PADDING | 00 01 8:7
      whole  | PONG, IPv4 | 02 8:7 $v4
      whole  | PONG, IPv6 | 02 8:7 06 20010db8 00*11 01 2:7400
      refuse | PONG, address family 0 | 02 8:7 00 00*16 2:7400
      refuse | PONG, address family 5 | 02 8:7 05 7f000001 00*12 2:7400
      refuse | PONG, address family 255 | 02 8:7 ff 7f000001 00*12 2:7400
      refuse | PONG, bytes behind an IPv4 address | 02 8:7 04 7f000001 00*11 01 2:7400
      refuse | PONG, IPv4-mapped IPv6 address | 02 8:7 06 00*10 ffff 7f000001 2:7400
      whole  | FEEDBACK of one packet | 03 00 4:100 4:9 2:0 01
      whole  | FEEDBACK of the first packet | 03 00 4:0 4:9 2:0 01
      whole  | FEEDBACK of epoch 3 | 03 03 4:100 4:9 2:65535 01
      whole  | FEEDBACK, one arrived and one missing | 03 00 4:100 4:9 2:0 03 01 00
      whole  | FEEDBACK, two-byte entry | 03 00 4:100 4:9 2:0 02 80 00
      whole  | FEEDBACK, highest entries | 03 00 4:100 4:9 2:0 03 7f ffff
      refuse | FEEDBACK, half a two-byte entry | 03 00 4:100 4:9 2:0 02 80
      refuse | FEEDBACK of nothing | 03 00 4:100 4:9 2:0 00
      refuse | FEEDBACK, an entry is missing | 03 00 4:100 4:9 2:0 02
      whole  | FEEDBACK of 255 | 03 00 4:300 4:9 2:0 ff 00*254
      refuse | FEEDBACK of 255 with 253 entries | 03 00 4:300 4:9 2:0 ff 00*253
      refuse | FEEDBACK below number 0 | 03 00 4:1 4:9 2:0 03 01 01
      whole  | FEEDBACK with marks | 03 04 4:100 4:9 2:0 01 01
      whole  | FEEDBACK of nine with marks | 03 04 4:100 4:9 2:0 09 01*8 ff 01
      refuse | FEEDBACK of nine, half of the marks | 03 04 4:100 4:9 2:0 09 01*8 ff
      refuse | FEEDBACK, reserved bit 3 | 03 08 4:100 4:9 2:0 01
      refuse | FEEDBACK, reserved bit 7 | 03 80 4:100 4:9 2:0 01
      whole  | MSG | 04 02 4:0 00 01 2:3 'abc'
      whole  | MSG, the empty message | 04 02 4:0 00 01 2:0
      whole  | MSG, highest sequence, unordered | 04 81 4:4294967295 00 01 2:1 aa
      whole  | MSG, the longest fragment | 04 02 4:0 00 01 2:1100 aa*1100
      refuse | MSG, a fragment too long | 04 02 4:0 00 01 2:1101 aa*1101
      refuse | MSG, length beyond the packet | 04 02 4:0 00 01 2:4 'abc'
      whole  | MSG, the last of 64 fragments | 04 02 4:0 3f 40 2:1 aa
      refuse | MSG, 65 fragments | 04 02 4:0 00 41 2:1 aa
      refuse | MSG, 255 fragments | 04 02 4:0 fe ff 2:1 aa
      refuse | MSG, index is the count | 04 02 4:0 01 01 2:1 aa
      refuse | MSG, index above the count | 04 02 4:0 ff 01 2:1 aa
      whole  | MSG, abandoned, 77 bytes sent | 04 02 4:5 00 00 2:4 4:77
      refuse | MSG, abandoned, with 3 bytes | 04 02 4:5 00 00 2:3 010203
      refuse | MSG, abandoned, with 5 bytes | 04 02 4:5 00 00 2:5 0102030405
      refuse | MSG, abandoned, with an index | 04 02 4:5 01 00 2:4 4:77
      refuse | MSG, an empty fragment of two | 04 02 4:0 00 02 2:0
      whole  | CREDIT | 05 4:200000
      whole  | CREDIT, all ones | 05 4:4294967295
      take   | VIDEO, key frame | 06 10 2:1 00 000000 00 00 aa
      take   | VIDEO, refers to the frame before | 06 00 2:2 01 000000 00 00 aa
      take   | VIDEO, refers to two | 06 04 2:2 21 000000 00 00 aa
      take   | VIDEO, last of 256 fragments | 06 10 2:1 00 000000 ff ff aa
      take   | VIDEO, the longest fragment | 06 10 2:1 00 000000 00 00 aa*1150
      refuse | VIDEO, a fragment too long | 06 10 2:1 00 000000 00 00 aa*1151
      refuse | VIDEO without bytes | 06 10 2:1 00 000000 00 00
      refuse | VIDEO without its last index | 06 10 2:1 00 000000 00
      refuse | VIDEO, index above the last | 06 10 2:1 00 000000 02 01 aa
      refuse | VIDEO, key frame that refers to one | 06 10 2:1 01 000000 00 00 aa
      refuse | VIDEO, key frame of layer 1 | 06 14 2:1 00 000000 00 00 aa
      refuse | VIDEO, refers to nothing | 06 00 2:2 00 000000 00 00 aa
      take   | VIDEO, reserved bit 7: skipped | 06 90 2:1 00 000000 00 00 aa
      take   | VIDEO, parity that was sent before: skipped | 06 70 2:1 00 000000 00 00 2:1 aa
      take   | VIDEO, parity | 06 50 2:1 00 000000 00 00 2:1 aa
      take   | VIDEO, highest parity | 06 50 2:1 00 000000 1f df 2:1 aa
      refuse | VIDEO, parity 32 | 06 50 2:1 00 000000 20 03 2:1 aa
      refuse | VIDEO, parity of 225 fragments | 06 50 2:1 00 000000 00 e0 2:1 aa
      refuse | VIDEO, parity, last fragment of 0 bytes | 06 50 2:1 00 000000 00 00 2:0 aa
      refuse | VIDEO, parity shorter than the last fragment | 06 50 2:1 00 000000 00 00 2:2 aa
      refuse | VIDEO, parity without bytes | 06 50 2:1 00 000000 00 00 2:1
      whole  | PATH_CHALLENGE | 07 8:1
      whole  | PATH_RESPONSE | 08 8:1 $v4
      refuse | PATH_RESPONSE, address family 7 | 08 8:1 07 7f000001 00*12 2:1
      whole  | SIGNAL | 09 2:3 010203
      refuse | SIGNAL, length beyond the packet | 09 2:4 010203
      refuse | SIGNAL, length 65535 | 09 2:65535 00*1100
      whole  | CLOSE | 0a 00 00
      whole  | CLOSE with a text | 0a 02 05 'adieu'
      whole  | CLOSE with the longest text | 0a 02 80 61*128
      refuse | CLOSE with a text too long | 0a 02 81 61*129
      refuse | CLOSE, text beyond the packet | 0a 02 06 'adieu'
      refuse | CLOSE, text is not UTF-8 | 0a 02 02 c328
      refuse | CLOSE, text ends in a letter | 0a 02 02 e282
      refuse | CLOSE, text with a surrogate | 0a 02 03 eda080
      refuse | CLOSE, overlong letter | 0a 02 02 c0af
      whole  | AUDIO_REPORT | 0b 00 2:10 2:1 2:1 2:0 01 2:5 2:40 03
      whole  | AUDIO_REPORT, all ones | 0b 03 2:65535 2:65535 2:65535 2:65535 ff 2:65535 2:65535 ff
      refuse | AUDIO_REPORT, reserved bit 2 | 0b 04 2:10 2:1 2:1 2:0 01 2:5 2:40 03
      refuse | AUDIO_REPORT, reserved bit 7 | 0b 80 2:10 2:1 2:1 2:0 01 2:5 2:40 03
      whole  | AUDIO_REQUEST | 0c 14 2:5 00
      whole  | AUDIO_REQUEST, eight entries | 0c 84 ffffff*8
      refuse | AUDIO_REQUEST, no entry | 0c 04
      refuse | AUDIO_REQUEST, nine entries | 0c 94 000000*9
      refuse | AUDIO_REQUEST, one entry of two | 0c 24 000000
      whole  | VIDEO_NACK of nothing | 0d 08 2:7 00
      whole  | VIDEO_NACK of a frame | 0d 08 2:7 01 2:7 00 ff
      whole  | VIDEO_NACK of 32 | 0d 0c 2:7 20 07000000*32
      refuse | VIDEO_NACK of 33 | 0d 0c 2:7 21 07000000*33
      whole  | VIDEO_NACK, nothing has come, a key frame is wanted | 0d 04 2:0 00
      refuse | VIDEO_NACK, nothing has come, but number 7 | 0d 04 2:7 00
      refuse | VIDEO_NACK, reserved bit 4 | 0d 18 2:7 00
      refuse | VIDEO_NACK, half an entry | 0d 08 2:7 01 2:7
      whole  | VIDEO_NACK, an entry that ends before it begins | 0d 08 2:7 01 2:7 05 04
      refuse | type 0e | 0e
      refuse | type 0f | 0f 00*40
      whole  | PROBE_REQUEST | 10 4:1 4:1 00 4:0 2:100 00 2:0 4:0 4:0 4:0 4:0 00
      whole  | PROBE_REQUEST, shortest payloads | 10 4:1 4:1 03 4:9 2:72 01 2:9 4:0 4:0 4:0 4:9 ff
      whole  | PROBE_REQUEST, longest payloads | 10 4:1 4:1 03 4:9 2:1200 01 2:9 4:0 4:0 4:0 4:9 ff
      refuse | PROBE_REQUEST, payloads of 71 | 10 4:1 4:1 00 4:9 2:71 01 2:9 4:0 4:0 4:0 4:9 00
      refuse | PROBE_REQUEST, payloads of 1201 | 10 4:1 4:1 00 4:9 2:1201 01 2:9 4:0 4:0 4:0 4:9 00
      refuse | PROBE_REQUEST of run 0 | 10 4:0 4:1 00 4:0 2:100 00 2:0 4:0 4:0 4:0 4:0 00
      refuse | PROBE_REQUEST, reserved bit 2 | 10 4:1 4:1 04 4:0 2:100 00 2:0 4:0 4:0 4:0 4:0 00
      whole  | PROBE_ANSWER | 11 4:1 4:1 00 4:0 4:0 2:10
      whole  | PROBE_ANSWER, over | 11 4:1 4:1 05 4:0 4:0 2:10
      refuse | PROBE_ANSWER, status 6 | 11 4:1 4:1 06 4:0 4:0 2:10
      refuse | PROBE_ANSWER to run 0 | 11 4:0 4:1 00 4:0 4:0 2:10
      take   | PROBE_PACKET | 12 4:1 4:0 4:0 00 00 4:0 4:0
      take   | PROBE_PACKET with zeros | 12 4:1 4:0 4:0 01 01 4:0 4:0 00*1100
      refuse | PROBE_PACKET of run 0 | 12 4:0 4:0 4:0 00 00 4:0 4:0
      refuse | PROBE_PACKET, reserved bit 1 | 12 4:1 4:0 4:0 02 00 4:0 4:0
      refuse | PROBE_PACKET, a byte is missing | 12 4:1 4:0 4:0 00 00 4:0 000000
      whole  | PROBE_REPORT of nothing | 13 4:1 4:0 4:0 2:0 2:0 4:0 2:0 2:0 2:0
      whole  | PROBE_REPORT, one missing | 13 4:1 4:0 4:0 2:0 2:0 4:0 2:0 2:0 2:1 ffff
      whole  | PROBE_REPORT of 480 | 13 4:1 4:0 4:0 2:0 2:0 4:0 2:0 2:0 2:480 0040*480
      refuse | PROBE_REPORT of 481 | 13 4:1 4:0 4:0 2:0 2:0 4:0 2:0 2:0 2:481 0040*481
      refuse | PROBE_REPORT of run 0 | 13 4:0 4:0 4:0 2:0 2:0 4:0 2:0 2:0 2:0
      whole  | ECHO_REQUEST | 14 8:7 8:0 00 2:64
      whole  | ECHO_REQUEST for another program, the longest | 14 8:7 8:9 02 2:1200
      refuse | ECHO_REQUEST for any program | 14 8:7 ff*8 00 2:64
      refuse | ECHO_REQUEST, unknown source | 14 8:7 8:0 03 2:64
      refuse | ECHO_REQUEST, too short an echo | 14 8:7 8:0 00 2:63
      refuse | ECHO_REQUEST, too long an echo | 14 8:7 8:0 00 2:1201
      whole  | ECHO | 15 8:7 00
      whole  | ECHO, too many | 15 8:7 05
      refuse | ECHO, unknown status | 15 8:7 06
      refuse | PROBE type 14 | 14 00*20
      refuse | PROBE type 1f | 1f
      refuse | type 20 | 20
      refuse | type 7f | 7f 00*50
      take   | AUDIO | 80 2:0 aa
      take   | AUDIO, stream 3, 60 ms, marker | fc 2:65535 aa
      take   | AUDIO, the longest Opus packet of a packet | 88 2:0 aa*1169
      refuse | AUDIO without sound | 80 2:0
      refuse | AUDIO, half a time | 80 00
      take   | AUDIO, reserved bit 0: skipped | 81 2:0 aa
      take   | AUDIO, all bits: skipped | ff 2:0
      take   | AUDIO with a copy | 82 2:10 01 01 aa bb
      take   | AUDIO, a carrier | 82 2:10 01 01 aa
      take   | AUDIO with two copies | 82 2:10 81 01 02 01 aa cc bb
      take   | AUDIO, a copy from 5 before, in a byte of its own | 82 2:10 00 05 01 aa bb
      refuse | AUDIO, a copy from 0 before | 82 2:10 00 00 01 aa bb
      refuse | AUDIO with copies, but no header | 82 2:10
      refuse | AUDIO, a copy of 0 bytes | 82 2:10 01 00 bb
      refuse | AUDIO, a copy beyond the packet | 82 2:10 01 05 aa bb
      refuse | AUDIO, another copy follows, but none does | 82 2:10 81 01
      take   | AUDIO with twelve copies | 82 2:99 8101*11 0101 aa*12 bb
      refuse | AUDIO with thirteen copies | 82 2:99 8101*12 0101 aa*13 bb
      """)
}
