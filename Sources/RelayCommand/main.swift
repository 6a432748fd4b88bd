import Glibc

// earshot-relay: forwards sealed audio of channels (docs/protocol/relay.md).
exit(RelayProgram.run(Array(CommandLine.arguments.dropFirst())))
