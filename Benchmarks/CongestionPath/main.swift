import Glibc

// What pacing, feedback and estimation cost a packet: see Benchmarks/README.md.
exit(CongestionPathProgram.run(Array(CommandLine.arguments.dropFirst())))
