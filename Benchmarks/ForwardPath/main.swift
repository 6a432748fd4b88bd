import Glibc

// What forwarding an audio frame to one member costs a relay: see Benchmarks/README.md.
exit(ForwardPathProgram.run(Array(CommandLine.arguments.dropFirst())))
