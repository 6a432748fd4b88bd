package struct QRCode { package init?(_ text: String) { return nil }; package var halfBlocks: String { "" } }
