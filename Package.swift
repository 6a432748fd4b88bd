// swift-tools-version: 6.2
import PackageDescription

// The DAG of docs/ARCHITECTURE.md, one line a target. `TidyTests` compares the two.

let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .strictMemorySafety(),  // every unsafe expression carries the word `unsafe`
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .enableExperimentalFeature("Lifetimes"),  // for ByteReader; see docs/decisions/0003
]

func layer(_ name: String, _ imports: [Target.Dependency] = [], path: String? = nil) -> Target {
  .target(name: name, dependencies: imports, path: path, swiftSettings: strict)
}
func program(
  _ name: String, _ imports: [Target.Dependency], path: String? = nil, without: [String] = []
) -> Target {
  .executableTarget(
    name: name, dependencies: imports, path: path, exclude: without, swiftSettings: strict,
    linkerSettings: [.linkedLibrary("m")])  // rounding a Double calls it
}
func tests(
  _ name: String, _ imports: [Target.Dependency], path: String? = nil, without: [String] = []
) -> Target {
  .testTarget(
    name: name, dependencies: imports, path: path, exclude: without, swiftSettings: strict)
}
func clang(_ name: String, links libraries: [String] = []) -> Target {
  .target(name: name, linkerSettings: libraries.map { .linkedLibrary($0) })
}

// What tools/fuzz builds, with flags of its own: a program that needs libFuzzer to link.
let fuzzing: [Target] =
  Context.environment["EARSHOT_FUZZ"] == nil
  ? []
  : [
    .target(name: "CFuzzer", path: "Tests/Fuzz/CFuzzer"),
    program("FuzzCommand", ["Fuzzing", "CFuzzer"], path: "Tests/Fuzz/FuzzCommand"),
  ]

let package = Package(
  name: "earshot",
  products: [
    .library(name: "Earshot", targets: ["Earshot"]),
    .library(name: "EarshotMedia", targets: ["EarshotMedia"]),
    .library(name: "earshot-c", type: .dynamic, targets: ["EarshotC"]),
    .executable(name: "earshot", targets: ["PeerMain"]),
    .executable(name: "earshot-rendezvous", targets: ["RendezvousCommand"]),
    .executable(name: "earshot-relay", targets: ["RelayCommand"]),
  ],
  targets: [
    // 0: C headers, and the nouns everyone shares
    clang("CLinux"), clang("CSodium", links: ["sodium"]), clang("COpus", links: ["opus"]),
    clang("CSndFile", links: ["sndfile", "samplerate"]), clang("CSQLite", links: ["sqlite3"]),
    clang("CVPX", links: ["vpx"]), clang("CTLS", links: ["ssl", "crypto"]),
    clang("CPortMapping", links: ["miniupnpc", "natpmp"]), clang("CAES", links: ["crypto"]),
    clang("CRedis", links: ["hiredis"]),
    layer("Primitives"),
    layer("Arguments"),
    layer("Plotting", ["Primitives"]),
    // 1: bytes
    layer("Wire", ["Primitives"]),
    layer("Cryptography", ["Primitives", "CSodium", "CAES"]),
    // 2: pure protocol machines, side by side
    layer("SecureSession", ["Primitives", "Wire", "Cryptography"]),
    layer("Connectivity", ["Primitives", "Wire"]),
    layer("Messaging", ["Primitives", "Wire"]),
    layer("Congestion", ["Primitives", "Wire"]),
    layer("Audio", ["Primitives", "Wire", "COpus"]),
    layer("Video", ["Primitives", "Wire", "CVPX"]),
    layer("Calling", ["Primitives", "Wire"]),
    layer("LastMile", ["Primitives", "Wire"]),
    layer("Relay", ["Primitives", "Wire", "Cryptography"]),
    layer("Tokens", ["Primitives", "Wire", "Cryptography"]),
    layer("PortMapping", ["Primitives"]),
    // 3: machines that need one of level 2
    layer("GroupKeys", ["Primitives", "Wire", "Cryptography", "SecureSession", "Tokens"]),
    layer("Channels", ["Primitives", "Wire", "Cryptography", "Tokens"]),
    layer("Forwarding", ["Primitives", "Wire", "Congestion", "Tokens", "Cryptography"]),
    // 4: composition, still pure
    layer(
      "Peer",
      [
        "Primitives", "Wire", "Cryptography", "SecureSession", "Connectivity", "Messaging",
        "Congestion", "Video", "Calling", "LastMile", "Relay", "Channels", "GroupKeys",
        "Forwarding",
      ]),
    layer(
      "Rendezvous",
      [
        "Primitives", "Wire", "Cryptography", "SecureSession", "Messaging", "Congestion",
        "LastMile", "Relay", "Tokens", "Channels", "Forwarding",
      ]
    ),
    // 5: the I/O edge
    layer("Reactor", ["Primitives", "CLinux", "CTLS"]),
    layer("MediaFiles", ["Primitives", "CSndFile"]),
    layer("Routers", ["Primitives", "PortMapping", "CPortMapping"]),
    layer(
      "Storage",
      [
        "Primitives", "Wire", "Cryptography", "SecureSession", "Tokens", "Rendezvous", "CSQLite",
        "CLinux",
      ]),
    layer("Redis", ["Primitives", "Rendezvous", "CRedis"]),
    // 6: the public API
    layer(
      "Earshot",
      [
        "Primitives", "Wire", "Cryptography", "SecureSession", "Connectivity", "Congestion",
        "Messaging", "Calling", "LastMile", "Relay", "Tokens", "PortMapping", "Peer", "Audio",
        "Video", "Reactor", "Routers", "Storage", "Channels", "GroupKeys",
      ]),
    // 7: what goes with it
    layer("EarshotMedia", ["Earshot", "MediaFiles", "Reactor", "Primitives"]),
    clang("CEarshot"),
    // 8: programs, and the library for C
    layer(
      "EarshotC", ["Earshot", "EarshotMedia", "LastMile", "Reactor", "Primitives", "CEarshot"]),
    layer(
      "PeerCommand",
      [
        "Earshot", "MediaFiles", "Video", "Reactor", "Arguments", "Plotting", "Primitives", "Wire",
        "Cryptography", "Tokens",
      ]),
    program("PeerMain", ["PeerCommand"]),
    program(
      "RendezvousCommand",
      [
        "Rendezvous", "Storage", "Redis", "Reactor", "SecureSession", "Primitives", "Wire",
        "Cryptography", "Relay", "Arguments", "Tokens",
      ]),
    program(
      "RelayCommand",
      [
        "Rendezvous", "Forwarding", "Peer", "Storage", "Reactor", "SecureSession", "Primitives",
        "Wire", "Tokens", "Arguments", "Cryptography",
      ]),
    program(
      "LoadCommand",
      [
        "Rendezvous", "Storage", "SecureSession", "Messaging", "Reactor", "Primitives", "Wire",
        "Cryptography", "Arguments",
      ],
      path: "tools/load", without: ["cluster"]),
    program(
      "ChannelLoad",
      [
        "Peer", "Channels", "GroupKeys", "SecureSession", "Tokens", "Reactor", "Wire",
        "Arguments", "Primitives",
      ],
      path: "tools/channels/ChannelLoad"),
    program(
      "ClusterLoad",
      [
        "Peer", "Calling", "SecureSession", "Storage", "Reactor", "Wire", "Arguments", "Primitives",
      ],
      path: "tools/cluster/ClusterLoad"),
    program("TinyCall", ["Earshot"], path: "Examples/TinyCall"),
    program("CallFromFile", ["Earshot"], path: "Examples/CallFromFile"),
    program("EchoSound", ["Earshot"], path: "Examples/EchoSound"),
    program("JoinChannel", ["Earshot", "EarshotMedia"], path: "Examples/JoinChannel"),
    program("TwoChannels", ["Earshot", "EarshotMedia"], path: "Examples/TwoChannels"),
    program("CallStory", ["Earshot"], path: "Examples/CallStory"),
    program("ProbeAdvice", ["Earshot"], path: "Examples/ProbeAdvice"),
    // measurements (Benchmarks/README.md)
    .target(
      name: "PacketPathC", path: "Benchmarks/PacketPathC",
      linkerSettings: [.linkedLibrary("sodium")]
    ),
    program(
      "PacketPath",
      [
        "SecureSession", "Reactor", "Wire", "Cryptography", "Primitives", "Arguments",
        "PacketPathC",
      ],
      path: "Benchmarks/PacketPath"),
    .target(name: "AllocationCounter", path: "Benchmarks/AllocationCounter"),
    program(
      "SteadyCall", ["Earshot", "Audio", "Video", "Arguments", "AllocationCounter"],
      path: "Benchmarks/SteadyCall"),
    program(
      "AudioPath", ["Audio", "MediaFiles", "AllocationCounter", "Wire", "Primitives"],
      path: "Benchmarks/AudioPath"),
    program(
      "SFramePath",
      ["GroupKeys", "SecureSession", "AllocationCounter", "Wire", "Primitives"],
      path: "Benchmarks/SFramePath"),
    program(
      "ForwardPath",
      [
        "Rendezvous", "Forwarding", "Peer", "Channels", "SecureSession", "Tokens",
        "AllocationCounter", "Wire", "Primitives",
      ],
      path: "Benchmarks/ForwardPath"),
    program(
      "CongestionPath", ["Congestion", "AllocationCounter", "Wire", "Primitives"],
      path: "Benchmarks/CongestionPath"),
    program(
      "VideoQuality",
      [
        "Video", "MediaFiles", "AllocationCounter", "Simulation", "Peer", "Wire", "Primitives",
      ],
      path: "Benchmarks/VideoQuality"),
    // proof: the simulated world, and a test target for each target above
    layer("LinkModel", ["Arguments", "Primitives"], path: "Tests/LinkModel"),
    tests("LinkModelTests", ["LinkModel", "Arguments", "Primitives"]),
    program(
      "LineCommand", ["LinkModel", "Reactor", "Arguments", "Primitives"], path: "tools/line"),
    tests("LineTests", ["LineCommand", "LinkModel", "Reactor", "Arguments", "Primitives"]),
    layer(
      "Simulation",
      [
        "LinkModel", "LastMile", "Primitives", "Wire", "Cryptography", "SecureSession", "Peer",
        "Rendezvous", "Calling", "Channels", "Congestion", "Video", "Tokens", "Audio", "Relay",
        "Forwarding",
      ],
      path: "Tests/Simulation"),
    program(
      "ProbeAccuracy", ["Simulation", "LastMile", "Arguments", "Primitives"],
      path: "Benchmarks/ProbeAccuracy"),
    program(
      "SimulateCommand", ["Simulation", "Arguments", "Primitives"], path: "Tests/SimulateCommand"),
    program(
      "RehearsalCommand",
      [
        "Simulation", "LinkModel", "Peer", "Audio", "Video", "Congestion", "MediaFiles", "Wire",
        "Arguments", "Primitives",
      ],
      path: "Tests/RehearsalCommand"),
    tests("RehearsalTests", ["RehearsalCommand", "LinkModel", "Arguments"]),
    tests("ArgumentsTests", ["Arguments"]),
    tests("PlottingTests", ["Plotting"]),
    tests("PrimitivesTests", ["Primitives"]),
    tests("WireTests", ["Wire", "Primitives"]),
    layer("Vectors", path: "Tests/Vectors"),
    layer("Trials", path: "Tests/Trials"),
    tests("CryptographyTests", ["Cryptography", "Primitives", "Vectors"]),
    tests(
      "SecureSessionTests",
      ["SecureSession", "Cryptography", "Wire", "Primitives", "Vectors", "Trials"]),
    program(
      "NoiseInterop", ["SecureSession", "Cryptography", "Wire", "Primitives"],
      path: "tools/interop/NoiseInterop"),
    tests("ConnectivityTests", ["Connectivity", "Wire", "Primitives"]),
    tests("RelayTests", ["Relay", "Wire", "Primitives", "Vectors"]),
    tests("TokensTests", ["Tokens", "Cryptography", "Wire", "Primitives", "Vectors"]),
    .target(
      name: "SFrameReference", path: "Tests/SFrameReference",
      linkerSettings: [.linkedLibrary("crypto")]),
    tests(
      "GroupKeysTests",
      [
        "GroupKeys", "SecureSession", "Tokens", "Cryptography", "Wire", "Primitives", "Vectors",
        "Trials", "SFrameReference",
      ]),
    tests("ChannelsTests", ["Channels", "Tokens", "Wire", "Primitives"]),
    tests("ForwardingTests", ["Forwarding", "Tokens", "Wire", "Primitives"]),
    tests("PortMappingTests", ["PortMapping", "Primitives"]),
    tests("RoutersTests", ["Routers", "PortMapping", "Primitives"]),
    tests("MessagingTests", ["Messaging", "Congestion", "Wire", "Primitives"]),
    layer(
      "CongestionLab",
      [
        "Peer", "LinkModel", "Congestion", "Video", "Messaging", "SecureSession", "Cryptography",
        "Wire", "Primitives",
      ],
      path: "Tests/CongestionLab"),
    program(
      "CongestionReportCommand", ["CongestionLab", "Congestion", "Plotting", "Arguments"],
      path: "Tests/CongestionReportCommand"),
    tests(
      "CongestionTests",
      ["Congestion", "CongestionLab", "LinkModel", "Peer", "Video", "Wire", "Primitives"]),
    tests("AudioTests", ["Audio", "Wire", "Primitives"]),
    tests("VideoTests", ["Video", "Wire", "Primitives"]),
    tests("CallingTests", ["Calling", "Wire", "Primitives"]),
    tests("LastMileTests", ["LastMile", "Wire", "Primitives"]),
    tests(
      "RendezvousTests",
      [
        "Rendezvous", "SecureSession", "Messaging", "Congestion", "Cryptography", "Wire",
        "Primitives", "RendezvousCommand", "RelayCommand", "LastMile", "Relay", "Tokens", "Trials",
        "Reactor", "Arguments", "Forwarding", "Channels", "Simulation", "Redis",
      ]),
    tests(
      "StorageTests",
      ["Storage", "Rendezvous", "SecureSession", "Tokens", "Cryptography", "Wire", "Primitives"]),
    tests(
      "EarshotTests",
      [
        "Earshot", "Rendezvous", "Reactor", "SecureSession", "Cryptography", "Wire", "Primitives",
        "Peer", "Audio", "Video", "Storage", "Relay", "Tokens", "PortMapping", "Simulation",
        "Channels", "Forwarding", "Calling",
      ]),
    tests(
      "RedisTests",
      [
        "Redis", "Rendezvous", "RendezvousCommand", "Storage", "Simulation", "Wire",
        "Cryptography", "Primitives",
      ]),
    tests("ReactorTests", ["Reactor", "Primitives"]),
    tests("MediaFilesTests", ["MediaFiles", "Primitives"]),
    tests(
      "ScenarioTests",
      [
        "Simulation", "Primitives", "Wire", "Cryptography", "SecureSession", "Connectivity",
        "Calling", "Peer", "Rendezvous", "LastMile", "Audio", "Video", "Congestion", "Tokens",
        "Channels", "Earshot", "Reactor", "Forwarding", "GroupKeys", "Trials", "Messaging",
      ], without: ["Acceptance/Golden"]),
    tests(
      "PeerCommandTests",
      [
        "PeerCommand", "Earshot", "MediaFiles", "Video", "Reactor", "Arguments", "Plotting",
        "Primitives", "Wire", "Cryptography", "Tokens",
      ]),
    tests("EarshotMediaTests", ["EarshotMedia", "Earshot"]),
    tests("EarshotCTests", ["EarshotC", "CEarshot", "EarshotMedia", "Earshot"]),
    tests(
      "HouseTourTests",
      [
        "Simulation", "Earshot", "MediaFiles", "Reactor", "Audio", "Peer", "Congestion",
        "SecureSession", "Wire", "Primitives",
      ]),
    tests("TidyTests", []),
    layer(
      "Fuzzing",
      [
        "Primitives", "Wire", "Cryptography", "SecureSession", "Messaging", "Congestion",
        "Calling", "Audio", "Video", "Peer", "Rendezvous", "MediaFiles", "Storage", "LastMile",
        "Relay", "Tokens", "PortMapping", "Routers", "GroupKeys", "Channels", "Forwarding",
        "Plotting", "PeerCommand",
      ],
      path: "Tests/Fuzz/Fuzzing"),
    tests("CorpusTests", ["Fuzzing", "Primitives"]),
    program("CompareCommand", ["MediaFiles"], path: "tools/compare"),
    tests("CompareTests", ["CompareCommand", "Primitives"]),
    program(
      "ListenCommand",
      [
        "Audio", "CongestionLab", "Peer", "Congestion", "Simulation", "MediaFiles", "Arguments",
        "Wire", "Primitives",
      ],
      path: "tools/listening"),
    tests("ListenTests", ["ListenCommand", "Audio", "Primitives"]),
  ] + fuzzing
)

// For quick work: only these test targets, comma-separated, and what they are made of.
if let wanted = Context.environment["EARSHOT_TEST_TARGETS"] {
  var reached = Set<String>()
  var open = wanted.split(separator: ",").map(String.init)
  while let name = open.popLast() {
    guard reached.insert(name).inserted,
      let target = package.targets.first(where: { $0.name == name })
    else { continue }
    for case .byNameItem(let dependency, _) in target.dependencies { open.append(dependency) }
  }
  package.targets.removeAll { !reached.contains($0.name) }
  package.products = []
}
