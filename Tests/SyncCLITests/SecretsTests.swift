import Testing

@testable import SyncCLI

@Suite struct SecretsTests {
    @Test(arguments: [
        ("pass\n", "pass"), ("pass", "pass"), ("pass\n\n", "pass\n"), ("\n", ""), ("", ""),
        ("pass\r\n", "pass\r"), ("\npass", "\npass"),
    ])
    func `a secret from a file loses one final newline`(file: String, secret: String) {
        // By bytes: "\r\n" is one character.
        #expect(Secrets.withoutNewline(Array(file.utf8)) == Array(secret.utf8))
    }
}
