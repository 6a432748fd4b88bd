import Forwarding
import Rendezvous
import Testing

@Suite struct MetricsTextTests {
  @Test func `each metric has its help, its kind and its value`() {
    var text = MetricsText()
    text.add("a_total", "Things.", 3)
    text.add("b_seconds", "A time.", nanoseconds: 1_020_000_003)
    text.add("c_info", "What runs.", version: "1.2", commit: "3f")
    #expect(
      text.text == """
        # HELP a_total Things.
        # TYPE a_total counter
        a_total 3
        # HELP b_seconds A time.
        # TYPE b_seconds gauge
        b_seconds 1.020000003
        # HELP c_info What runs.
        # TYPE c_info gauge
        c_info{version="1.2",commit="3f"} 1

        """)
  }

  @Test func `no name is there twice`() {
    var relay = MetricsText()
    relay.add(ForwardingCounters(), ServerGauges(), ServerCounters())
    relay.add(PairCounters(), pairCount: 0)
    var server = MetricsText()
    server.add(ServerCounters(), ServerGauges())
    for text in [relay.text, server.text] {
      let names = text.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }
        .map { $0.split(separator: " ")[2] }
      let twice = Dictionary(grouping: names) { $0 }.filter { $0.value.count > 1 }.keys
      #expect(names.count > 20 && twice.isEmpty, "\(twice.sorted())")
    }
  }

  @Test func `reasons are labels, and all are there from the start`() {
    var counters = ServerCounters()
    var counts = ReasonCounts<InitiationDrop>()
    #expect(counts.total == 0 && counts.all.count == InitiationDrop.allCases.count)
    // The raw values are the places.
    #expect(InitiationDrop.allCases.map(\.rawValue) == Array(InitiationDrop.allCases.indices))
    let refusals = ServerEvent.Refusal.allCases
    #expect(refusals.map(\.rawValue) == Array(refusals.indices))
    counts.add(.wrongMAC)
    counts.add(.wrongMAC)
    counters.initiationsDropped = counts
    var text = MetricsText()
    text.add(counters, ServerGauges())
    let name = "earshot_rendezvous_initiations_dropped_total"
    #expect(text.text.contains("\n\(name){reason=\"wrongMAC\"} 2\n"))
    #expect(text.text.contains("\n\(name){reason=\"busy\"} 0\n"))
    #expect(counters.initiationsDropped.total == 2)
    #expect(
      text.text.contains(
        "\nearshot_rendezvous_registrations_refused_total{reason=\"notAllowed\"} 0\n"))
  }
}
