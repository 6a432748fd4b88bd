import Cryptography
import Primitives
import Vectors

struct MalformedVector: Error {}

/// `#require` cannot hand on what is not copyable.
func secretKey(hex: String) throws(MalformedVector) -> SecretKey {
  guard let key = SecretKey(copying: bytes(hex: hex).span) else { throw MalformedVector() }
  return key
}

func nonce(hex: String) throws(MalformedVector) -> ChaChaPoly.Nonce {
  guard let nonce = ChaChaPoly.Nonce(bytes(hex: hex).span) else { throw MalformedVector() }
  return nonce
}

func bytes32(hex: String) throws(MalformedVector) -> Bytes32 {
  guard let value = Bytes32(bytes(hex: hex)) else { throw MalformedVector() }
  return value
}
