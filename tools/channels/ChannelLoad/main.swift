import Glibc

// Members of one channel at a running earshot-relay: sound in, sound out, and how late it is.
exit(ChannelLoadProgram.run(Array(CommandLine.arguments.dropFirst())))
