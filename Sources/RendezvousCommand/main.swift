import Glibc

// earshot-rendezvous: introduces peers to each other (docs/protocol/rendezvous.md).
exit(RendezvousProgram.run(Array(CommandLine.arguments.dropFirst())))
