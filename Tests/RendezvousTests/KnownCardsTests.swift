import Primitives
import Testing
import Wire

@testable import Rendezvous

/// What the stored cards say (`AudienceTests` has what of them strangers see).
@Suite struct KnownCardsTests {
  @Test func `bytes that are no card have no content`() {
    #expect(ContactCard.Content(ofCard: []) == nil)
    #expect(ContactCard.Content(ofCard: Array(repeating: 7, count: 300)) == nil)
  }

  @Test func `a card has the content that was signed`() throws {
    let card = TestClient(1).card
    #expect(ContactCard.Content(ofCard: card.bytes) == card.content)
  }
}
