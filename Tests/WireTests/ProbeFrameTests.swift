import Primitives
import Testing
import Wire

/// docs/protocol/probe.md §1.
@Suite struct ProbeFrameTests {
  private func written(_ body: (inout OutputSpan<UInt8>) -> Void) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(addingCapacity: Datagram.maximumByteCount, initializingWith: body)
    return bytes
  }

  private func read(_ bytes: [UInt8]) throws -> Frame? {
    var reader = FrameReader(bytes.span)
    return try reader.next()
  }

  @Test func `a request has the documented bytes`() throws {
    var request = ProbeRequestFrame(
      run: 0x0403_0201, number: 5, payloadByteCount: 1200, byteBudget: 2_500_000)
    request.wantsReport = true
    request.rate = 5_250_000
    request.train = 9
    request.trainLimit = 20
    request.receivedEnd = 100
    request.receivedCount = 99
    request.reportedEnd = 64
    request.reportInterval = 5
    let bytes = written { request.write(to: &$0) }
    #expect(bytes.count == ProbeRequestFrame.byteCount)
    #expect(bytes[0..<10] == [0x10, 1, 2, 3, 4, 5, 0, 0, 0, 2])
    #expect(bytes[14..<19] == [0xB0, 0x04, 9, 20, 0])
    #expect(bytes[35] == 5)
    #expect(try read(bytes) == .probeRequest(request))
  }

  @Test func `an answer has the documented bytes`() throws {
    let answer = ProbeAnswerFrame(
      run: 1, number: 2, status: .busy, rateLimit: 3, byteLimit: 4, timeLimit: 320)
    let bytes = written { answer.write(to: &$0) }
    #expect(bytes.count == ProbeAnswerFrame.byteCount)
    #expect(bytes[0] == 0x11 && bytes[9] == 1 && bytes[18] == 64 && bytes[19] == 1)
    #expect(try read(bytes) == .probeAnswer(answer))
  }

  @Test func `a test packet fills its datagram`() throws {
    var packet = ProbePacketFrame(run: 1, sequence: 2, sent: 3)
    packet.isEcho = true
    packet.train = 4
    packet.answered = 5
    packet.delay = 6
    let bytes = written { packet.write(to: &$0, filling: 300) }
    #expect(bytes.count == 300)
    #expect(bytes[0] == 0x12 && bytes[13] == 1 && bytes[14] == 4 && bytes[19] == 6)
    #expect(try read(bytes) == .probePacket(packet))
  }

  @Test func `a report's arrivals come back`() throws {
    let report = ProbeReportFrame(
      run: 1, first: 10, arrival: 1000, duplicateCount: 0, reorderedCount: 1, sentCount: 7,
      markedCount: 0x0201, bleachedCount: 0x0403)
    let entries: [UInt16] = [0xFFFF, 16384, 16384 + 100, 0xFFFF, 16384 - 50]
    let bytes = written { packet in
      report.writeHeader(to: &packet, count: entries.count)
      for entry in entries { packet.append(littleEndian: entry) }
    }
    #expect(bytes.count == ProbeReportFrame.headerByteCount + 2 * entries.count)
    #expect(bytes[21..<27] == [1, 2, 3, 4, 5, 0])
    guard case .probeReport(let parsed) = try read(bytes) else {
      Issue.record("a report is read as one")
      return
    }
    #expect(parsed.markedCount == 0x0201 && parsed.bleachedCount == 0x0403)
    var arrivals = parsed.arrivals(in: bytes.span)
    var ticks: [UInt32?] = []
    while let arrival = arrivals.next() {
      #expect(arrival.sequence == 10 + UInt32(ticks.count))
      ticks.append(arrival.ticks)
    }
    #expect(ticks == [nil, 1000, 1100, nil, 1050])
  }

  @Test func `what is cut short or out of range is refused`() throws {
    let request = ProbeRequestFrame(run: 1, number: 1, payloadByteCount: 72, byteBudget: 0)
    let whole = written { request.write(to: &$0) }
    for count in 1..<whole.count {
      #expect(throws: WireError.self) { try read(Array(whole.prefix(count))) }
    }
    for (offset, value) in [(1, 0), (9, 4), (14, 71)] {
      var bytes = whole
      bytes[offset] = UInt8(value)
      #expect(throws: WireError.self) { try read(bytes) }
    }
    var report = written {
      ProbeReportFrame(
        run: 1, first: 0, arrival: 0, duplicateCount: 0, reorderedCount: 0, sentCount: 0
      ).writeHeader(to: &$0, count: 0)
    }
    report[25] = 1  // An entry that is not there.
    #expect(throws: WireError.self) { try read(report) }
  }
}
