import Glibc

// Runs one side of IKpsk2 handshakes, so that tools/interop/run can put another implementation at
// the other end. One command a line on standard input, fields in hexadecimal, `-` for none; one
// line back for each, `error` if it failed:
//
//     start initiator|responder PROLOGUE STATIC EPHEMERAL PSK [REMOTE_STATIC]   -> ok PUBLIC_STATIC
//     write PAYLOAD    -> ok MESSAGE      the next handshake message
//     read MESSAGE     -> ok PAYLOAD
//     split            -> ok HASH
//     seal TEXT        -> ok SEALED       a transport message
//     open SEALED      -> ok TEXT
//     frames PACKET    -> ok taken|refused      the frames of an opened packet

var conversation = Conversation()
while let line = readLine() {
  let fields = line.split(separator: " ").map(String.init)
  print(conversation.answer(fields).map { "ok " + $0 } ?? "error")
  fflush(nil)
}
