internal import Primitives
internal import Storage
package import Tokens

/// What `earshot token` does with files: keys that sign access tokens, and tokens.
package enum TokenIssuer {
  /// Makes a signing key for its owner alone, and writes the public one as well if asked to. What
  /// is there already stays as it is.
  ///
  /// - Returns: The public key, for the rendezvous.
  package static func makeKey(
    at path: String, publicAt publicPath: String? = nil
  ) throws(EarshotError) -> TokenPublicKey {
    var random = RandomSource.system
    do throws(StorageError) {
      return try TokenFiles.makeKey(at: path, publicAt: publicPath, random: &random)
    } catch {
      throw EarshotError(token: error)
    }
  }

  /// The text of a token with these claims.
  package static func sign(
    _ claims: TokenClaims, keyFile: String
  ) throws(EarshotError) -> String {
    do throws(StorageError) {
      let key = try TokenFiles.signingKey(at: keyFile)
      return PublicToken(signing: claims.json, by: key).text
    } catch {
      throw EarshotError(token: error)
    }
  }

  package static func publicKey(at path: String) throws(EarshotError) -> TokenPublicKey {
    do throws(StorageError) { return try TokenFiles.publicKey(at: path) } catch {
      throw EarshotError(token: error)
    }
  }

  /// A token's text, not checked.
  package static func token(at path: String) throws(EarshotError) -> String {
    do throws(StorageError) { return try TokenFiles.token(at: path) } catch {
      throw EarshotError(token: error)
    }
  }
}

extension EarshotError {
  /// A file of tokens or of their keys.
  fileprivate init(token error: StorageError) {
    self.init(.fileUnusable, error.message, advice: error.advice)
  }
}
