import Primitives
import Testing
import Wire

@testable import Calling

@Suite struct OpenCallsTests {
  private func call(_ number: UInt8, _ peer: UInt64 = 2) -> OpenCall {
    OpenCall(
      id(number), PeerID(word0: peer, word1: 0, word2: 0, word3: 0), .caller, zero: start)
  }

  @Test func `a call is put in, changed in its place, and taken out`() {
    var open = OpenCalls()
    #expect(open.isEmpty && open[id(1)] == nil && open.remove(id(1)) == nil)
    for number in [3, 1, 2] as [UInt8] { open[id(number)] = call(number, UInt64(number)) }
    #expect(open.ids == [id(1), id(2), id(3)] && open.count == 3)
    open[id(2)]?.hasPath = true
    #expect(open[id(2)]?.hasPath == true && open[id(1)]?.hasPath == false)
    #expect(open.index(of: id(1)) == 1 && open.index(of: id(9)) == nil)
    open[id(1)] = nil
    open[id(9)] = nil
    open[id(9)]?.hasPath = true
    #expect(open.ids == [id(2), id(3)])
    #expect(open.remove(id(3))?.callID == id(3) && open.ids == [id(2)])
  }

  @Test func `a call that is there already is replaced`() {
    var open = OpenCalls()
    open[id(1)] = call(1, 2)
    open[id(1)] = call(1, 3)
    #expect(open.count == 1 && open[id(1)]?.peer == carol)
  }
}
