import Primitives
import Reactor
import Testing

struct ThreadLatchTests {
  @Test func `who waits gets what another thread brings`() throws {
    let latch = try ThreadLatch()
    let worker = try PromptWorker(named: "test-latch") { _ in
      latch.open()
      return nil
    }
    #expect(latch.wait(.seconds(20)))
    #expect(latch.wait(.zero), "it stays open")
    worker.stop()
    worker.join()
  }

  @Test func `what never comes is not waited for longer than asked`() throws {
    let began = SystemClock.now
    #expect(try !ThreadLatch().wait(.milliseconds(30)))
    #expect(SystemClock.now - began >= .milliseconds(30))
  }
}
