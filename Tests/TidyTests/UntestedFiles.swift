/// Files of which no test names a type: what they do is seen only through the types that use them.
/// The list may only shrink.
enum UntestedFiles {
  static let paths: Set<String> = [
    "Sources/Audio/Playout/InterarrivalJitter.swift",
    "Sources/Audio/Playout/NoiseFloor.swift",
    "Sources/Calling/SeenCalls.swift",
    "Sources/Earshot/Events/EndpointDelegate.swift",
    "Sources/Earshot/Exports.swift",
    "Sources/MediaFiles/Sound/Resampler.swift",
    "Sources/MediaFiles/Sound/WAVHeader.swift",
    "Sources/Messaging/FlowCredit.swift",
    "Sources/Messaging/MessageSender+Recovery.swift",
    "Sources/Messaging/MessageSender.swift",
    "Sources/Messaging/OutgoingMessage.swift",
    "Sources/Messaging/Reassembly.swift",
    "Sources/Messaging/ReceiveStream.swift",
    "Sources/Reactor/Network/UDPStatistics.swift",
    "Sources/Reactor/Threads/JoinableThread.swift",
    "Sources/Rendezvous/Exchange/ArrivalRing.swift",
    "Sources/Rendezvous/Exchange/FlightRing.swift",
    "Sources/Rendezvous/Machine/Farewells.swift",
    "Sources/Storage/Files/TextRecord.swift",
  ]
}
