import SyncPlatform
import Testing

@Suite struct `Addresses and headers` {
    @Test(arguments: [
        ("https://example.org", "https://example.org/"),
        ("HTTPS://Example.ORG:443/a/./b/../c?x=1#part", "https://example.org/a/c?x=1"),
        ("https://example.org:8443/a", "https://example.org:8443/a"),
        ("http://localhost:80/", "http://localhost/"),
        ("http://127.1.2.3:8080/x", "http://127.1.2.3:8080/x"),
        ("http://[0:0::1]:1/", "http://[::1]:1/"),
        ("https://[2001:DB8::1]/", "https://[2001:db8::1]/"),
        ("https://example.org?q", "https://example.org/?q"),
        ("https://example.org/a/..", "https://example.org/"),
        ("https://example.org/a/b/..", "https://example.org/a/"),
        ("https://example.org/%41//b", "https://example.org/%41//b"),
    ])
    func `an address has one spelling`(text: String, spelling: String) throws {
        #expect(try HTTPURL(text).string == spelling)
    }

    @Test(arguments: [
        "", "example.org", "ftp://example.org/", "file:///etc/passwd", "https://", "https:///a",
        "http://example.org/", "http://128.0.0.1/", "http://127.1/", "http://0177.0.0.1/",
        "http://2130706433/", "https://0x7f.1/", "https://1.2.3/", "https://1.2.3.256/",
        "https://1.2.3.04/", "http://[::ffff:127.0.0.1]/", "http://[::1%25lo]/", "https://[::1",
        "http://localhost.example.org/", "http://127.0.0.1.example.org/", "http://localhost./",
        "https://user@example.org/", "https://user:pass@example.org/", "http://127.0.0.1@evil.org/",
        "http://127.0.0.1\\@evil.org/", "https://exa mple.org/", "https://exämple.org/",
        "https://example.org:0/", "https://example.org:65536/", "https://example.org:/",
        "https://example.org:+1/", "https://example..org/", "https://%65xample.org/",
        "https://example.org/a b", "https://example.org/a\r\nHost: x", "https://example.org/\0",
        "https://example.org/%4", "https://example.org/%zz", "https://example.org/ü",
    ])
    func `what is not https, nor http to this machine, is no address`(text: String) {
        #expect(code { () throws(HTTPError) in _ = try HTTPURL(text) } == .badURL)
    }

    @Test(arguments: [
        ("https://b.org/x", "https://b.org/x"), ("//b.org/x", "https://b.org/x"),
        ("/x", "https://a.org/x"), ("x", "https://a.org/d/x"), ("../x", "https://a.org/x"),
        ("?y", "https://a.org/d/e?y"), ("#z", "https://a.org/d/e?q"), ("", "https://a.org/d/e?q"),
        ("./", "https://a.org/d/"), ("x/../../y", "https://a.org/y"),
    ])
    func `a reference is resolved against its base`(reference: String, whole: String) throws {
        #expect(try HTTPURL("https://a.org/d/e?q").resolving(reference).string == whole)
    }

    @Test(arguments: ["javascript:x", "http://a.org/", "mailto:a@b", "//u@b.org/", "/a b"])
    func `a reference to somewhere else is no address`(reference: String) throws {
        let base = try HTTPURL("https://a.org/")
        #expect(code { () throws(HTTPError) in _ = try base.resolving(reference) } == .badURL)
    }

    @Test func `an address shows no query when printed`() throws {
        #expect("\(try HTTPURL("https://a.org/b?secret"))" == "https://a.org/b")
    }

    @Test(arguments: [
        ("X", "a\r\nY: b"), ("X", "a\nb"), ("X", "a\rb"), ("X", "a\0b"), ("X", "a\u{7f}"),
        ("X", "\u{1}"), ("X\r\nY", "a"), ("X Y", "a"), ("X:", "a"), ("", "a"), ("Ü", "a"),
        ("Content-Length", "1"), ("transfer-encoding", "chunked"), ("HOST", "x"),
    ])
    func `a header that could smuggle another one is refused`(name: String, value: String) {
        let found = code { () throws(HTTPError) in
            var headers = HTTPHeaders()
            try headers.add(name, value)
        }
        #expect(found == .badHeader)
    }

    @Test func `a header error does not show the value`() {
        do {
            var headers = HTTPHeaders()
            try headers.add("Authorization", "Bearer s3cret\n")
            Issue.record("it was taken")
        } catch {
            #expect(!"\(error)".contains("s3cret"))
        }
    }

    @Test func `headers are found in any case and keep their duplicates`() throws {
        var headers = try HTTPHeaders(["ETag": "\"1\"", "Link": "a"])
        try headers.add("link", "b")
        #expect(headers["etag"] == "\"1\"")
        #expect(headers["LINK"] == "a")
        #expect(headers.values("Link") == ["a", "b"])
        #expect(headers["Lin"] == nil)
        #expect(headers.fields.map(\.name) == ["ETag", "Link", "link"])
    }
}
