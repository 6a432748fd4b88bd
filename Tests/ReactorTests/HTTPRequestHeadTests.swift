import Testing

@testable import Reactor

struct HTTPRequestHeadTests {
  private func feed(
    _ text: String, pieces size: Int
  ) -> (state: HTTPRequestHead.State, head: HTTPRequestHead, fed: Int) {
    var head = HTTPRequestHead()
    let bytes = Array(text.utf8)
    var start = 0
    while start < bytes.count {
      let end = min(bytes.count, start + size)
      let state = head.append(bytes[start..<end])
      start = end
      if state != .incomplete { return (state, head, start) }
    }
    return (.incomplete, head, start)
  }

  @Test(arguments: [1, 2, 3, 7, 4096])
  func `finds the empty line however the head is cut`(size: Int) {
    for text in ["GET /metrics?x HTTP/1.1\r\nHost: x\r\n\r\n", "GET /metrics HTTP/1.0\n\n"] {
      let (state, head, fed) = feed(text, pieces: size)
      #expect(state == .complete && fed == text.utf8.count)
      #expect(head.methodAndPath == ("GET", "/metrics"))
    }
    #expect(feed("GET / HTTP/1.1\r\n", pieces: size).state == .incomplete)
  }

  @Test func `looks at every byte once`() {
    let (state, head, _) = feed(String(repeating: "x", count: 4000), pieces: 100)
    #expect(state == .incomplete)
    #expect(head.examinedByteCount == 4000)
  }

  @Test func `gives up after 4096 bytes or 64 pieces`() {
    #expect(feed(String(repeating: "x", count: 5000), pieces: 1000).state == .tooLong)
    let (state, _, fed) = feed(String(repeating: "x", count: 5000), pieces: 1)
    #expect(state == .tooLong && fed == HTTPRequestHead.pieceLimit + 1)
  }
}
