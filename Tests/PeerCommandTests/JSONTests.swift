import PeerCommand
import Primitives
import Testing

struct JSONTests {
  @Test(arguments: [
    #"{"a":1,"b":[true,false,null],"c":{"d":"e\n\"\\"}}"#, "[]", "{}", "-12", "0.5", #""ü""#,
  ])
  func `what is read is written the same`(text: String) {
    #expect(JSONReader.value(of: text)?.text == text)
  }

  @Test(arguments: [
    "", "{", "[1,]", "01", "1.", "+1", "nul", #""\x""#, #"{"a" 1}"#, "1 2", #""\ud800""#, "-",
    "NaN",
    "\"\u{1}\"", String(repeating: "[", count: 100) + String(repeating: "]", count: 100),
  ])
  func `what is not JSON is refused`(text: String) {
    #expect(JSONReader.value(of: text) == nil)
  }

  @Test func `seconds keep their microseconds, and what is absent adds no key`() {
    var object = JSONObject()
    object.add("rtt", 0.000345)
    object.add("whole", 3.0)
    object.add("nothing", Double?.none)
    object.add("infinite", Double.infinity)
    object.add("negative", -2.5)
    #expect(object.value.text == #"{"rtt":0.000345,"whole":3,"negative":-2.5}"#)
  }

  @Test func `random bytes never stop the reader`() {
    var random = RandomSource(seed: 20_260_301)
    let letters = Array(#"{}[]",:\u0123456789.eE+-truefalsn "#.utf8)
    for _ in 0..<10_000 {
      let count = Int(random.next() % 40)
      let bytes = (0..<count).map { _ in letters[Int(random.next() % UInt64(letters.count))] }
      let text = String(decoding: bytes, as: UTF8.self)
      if let value = JSONReader.value(of: text) {
        #expect(JSONReader.value(of: value.text) != nil, "\(text)")
      }
    }
  }
}
