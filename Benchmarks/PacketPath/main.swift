import Glibc

// What a packet costs, in Swift and in C: see Benchmarks/README.md.
exit(PacketPathProgram.run(Array(CommandLine.arguments.dropFirst())))
