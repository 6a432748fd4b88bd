import Foundation

exit(RehearsalProgram.run(Array(CommandLine.arguments.dropFirst())))
