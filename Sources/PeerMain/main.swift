import PeerCommand

PeerProgram.main()
