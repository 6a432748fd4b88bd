import Primitives
import Testing
import Wire

@Suite struct AudioBodyTests {
  private static func bytes(_ write: (inout OutputSpan<UInt8>) -> Void) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(addingCapacity: 2000) { write(&$0) }
    return bytes
  }

  @Test func `an ordinary copy costs two bytes`() {
    let header = Self.bytes { output in
      AudioCopy.writeHeader(.lowRate, distance: 4, byteCount: 30, isLast: true, to: &output)
    }
    #expect(header == [0b0010_0100, 30])
    #expect(AudioCopy.headerByteCount(distance: 4, byteCount: 30) == 2)
    #expect(AudioCopy.headerByteCount(distance: 32, byteCount: 252) == 4)
  }

  @Test(arguments: [1, 30, 251, 252, 253, 255, 256, 1275], [1, 31, 32, 255] as [UInt8])
  func `copies of every length and distance are read as written`(
    length: Int, distance: UInt8
  ) throws {
    let body = Self.bytes { output in
      AudioCopy.writeHeader(
        .primary, distance: distance, byteCount: length, isLast: false, to: &output)
      AudioCopy.writeHeader(.retransmission, distance: 2, byteCount: 3, isLast: true, to: &output)
      output.append(repeating: 7, count: length)
      output.append(repeating: 8, count: 3)
      output.append(repeating: 9, count: 80)
    }
    let parts = try AudioBody(body.span, hasCopies: true)
    #expect(parts.copyCount == 2)
    #expect(parts.copy(0).coding == .primary && parts.copy(0).distance == distance)
    #expect(parts.copy(0).payload.count == length)
    #expect(parts.copy(1).coding == .retransmission)
    #expect(Array(body[parts.copy(1).payload.range]) == [8, 8, 8])
    #expect(parts.primary.count == 80)
    #expect(
      body.count
        == length + 3 + 80 + 2 + AudioCopy.headerByteCount(distance: distance, byteCount: length))
  }

  @Test(arguments: [1, 80, 252, 1272], [2, 40] as [UInt8])
  func `a parity says which frames and what lengths`(count: Int, distance: UInt8) throws {
    let length = count + AudioCopy.parityLeadByteCount
    let body = Self.bytes { output in
      AudioCopy.writeHeader(
        .parity, distance: distance, byteCount: length, isLast: true, to: &output)
      AudioCopy.writeParityLead(secondDistance: 6, lengths: (count, 3), to: &output)
      output.append(repeating: 7, count: count)
      output.append(repeating: 9, count: 80)
    }
    let parts = try AudioBody(body.span, hasCopies: true)
    let parity = parts.copy(0)
    #expect(parity.coding == .parity && parity.distance == distance)
    #expect(parity.secondDistance == 6 && Int(parity.lengthSum) == count ^ 3)
    #expect(Array(body[parity.payload.range]) == [UInt8](repeating: 7, count: count))
    #expect(parts.primary.count == 80)
    #expect(
      body.count
        == length + 80
        + AudioCopy.headerByteCount(.parity, distance: distance, byteCount: length))
  }

  @Test(
    arguments: [
      [0x62, 1, 3, 6, 0, 0], [0x62, 1, 4, 0, 0, 0, 5], [0x62, 1, 4, 2, 0, 0, 5],
    ] as [[UInt8]])
  func `a parity that makes no sense is stepped over`(head: [UInt8]) throws {
    let body = head + [9, 9]
    let parts = try AudioBody(body.span, hasCopies: true)
    #expect(parts.copy(0).coding == .other)
    #expect(parts.primary.count == 2)
  }

  /// As a sender puts it in: the first header, and the first bytes behind all headers.
  @Test(arguments: [0, 1, 11, 12])
  func `a body says how many frames were not sent`(copies: Int) throws {
    let headers = Self.bytes { output in
      for index in 0..<copies {
        AudioCopy.writeHeader(
          .primary, distance: 40, byteCount: 3, isLast: index == copies - 1, to: &output)
      }
    }
    let rest = [UInt8](repeating: 7, count: 3 * copies) + [UInt8](repeating: 9, count: 80)
    let plain = headers + rest
    let end = AudioBody.headerEnd(of: plain.span, hasCopies: copies > 0)
    guard copies < AudioBody.maximumCopyCount else {
      #expect(end == nil, "there is no room")
      return
    }
    #expect(end == headers.count)
    let count: [UInt8] = [0x34, 0x12]
    let body =
      Self.bytes { output in
        AudioCopy.writeHeader(
          .unsentCount, distance: 1, byteCount: 2, isLast: copies == 0, to: &output)
      } + headers + count + rest
    #expect(body.count == plain.count + AudioBody.unsentCountCost)
    let parts = try AudioBody(body.span, hasCopies: true)
    #expect(parts.unsentCount == 0x1234 && parts.copyCount == copies + 1)
    #expect(parts.copy(0).coding == .unsentCount)
    #expect(Array(body[parts.primary.range]) == [UInt8](repeating: 9, count: 80))
    for index in 0..<copies {
      #expect(Array(body[parts.copy(index + 1).payload.range]) == [7, 7, 7])
    }
    let silent = try AudioBody(plain.span, hasCopies: copies > 0)
    #expect(silent.unsentCount == nil)
    let other: [UInt8] = [0x61, 2, 3, 1, 1, 1, 9]
    let odd = try AudioBody(other.span, hasCopies: true)
    #expect(odd.unsentCount == nil, "three bytes say nothing")
  }

  @Test func `a codec that is not known is stepped over`() throws {
    let body: [UInt8] = [0b0110_0010, 0x55, 2, 1, 1, 9, 9, 9]
    let parts = try AudioBody(body.span, hasCopies: true)
    #expect(parts.copy(0).coding == .other)
    #expect(parts.primary.count == 3)
  }

  @Test(
    arguments: [
      [], [0x80], [0x02], [0x02, 0], [0x00, 0, 1, 1], [0x02, 5, 1, 1], [0x62, 1],
      [UInt8](repeating: 0x81, count: 40),
    ] as [[UInt8]])
  func `what is cut short or too much is refused`(body: [UInt8]) {
    #expect(Self.isRefused(body, hasCopies: true))
  }

  @Test func `a packet may have copies only, but not nothing`() throws {
    let body: [UInt8] = [0x02, 1, 5]
    let parts = try AudioBody(body.span, hasCopies: true)
    #expect(parts.primary.isEmpty && parts.copyCount == 1)
    #expect(Self.isRefused([], hasCopies: false))
  }

  private static func isRefused(_ body: [UInt8], hasCopies: Bool) -> Bool {
    do throws(WireError) {
      _ = try AudioBody(body.span, hasCopies: hasCopies)
      return false
    } catch {
      return true
    }
  }
}

@Suite struct AudioControlFramesTests {
  @Test func `a report says what was written`() throws {
    var report = AudioReportFrame()
    report.framesExpected = 65_000
    report.framesLost = 1234
    report.lossBursts = 77
    report.framesUnrepaired = 3
    report.longestBurst = 9
    report.slackMilliseconds = -40
    report.targetDelayMilliseconds = 155
    report.jitterMilliseconds = 12
    var body: [UInt8] = []
    body.append(addingCapacity: 40) { report.writeBody(to: &$0) }
    #expect(body.count == AudioReportFrame.bodyByteCount)
    let read = try AudioReportFrame(body: body.span)
    #expect(read == report)
  }

  @Test func `a request packs neighbours into one entry`() throws {
    var request = AudioRequestFrame(length: .milliseconds20)
    for mediaTime in [65_534, 0, 4, 14, 200] as [UInt16] {
      let isTaken = request.add(mediaTime: mediaTime)
      #expect(isTaken)
    }
    var body: [UInt8] = []
    body.append(addingCapacity: 40) { request.writeBody(to: &$0) }
    let read = try AudioRequestFrame(body: body.span)
    #expect(read.entryCount == 2)
    #expect(read.entry(0) == AudioRequestFrame.Entry(mediaTime: 65_534, following: 0b1000_0101))
    #expect(read.entry(1).mediaTime == 200)
    #expect(read.length == .milliseconds20)
  }

  @Test func `a request has room for eight entries`() {
    var request = AudioRequestFrame(length: .milliseconds20)
    for number in 0..<8 { #expect(Self.add(UInt16(number * 100), to: &request)) }
    #expect(!Self.add(5000, to: &request))
  }

  private static func add(_ mediaTime: UInt16, to request: inout AudioRequestFrame) -> Bool {
    request.add(mediaTime: mediaTime)
  }
}
