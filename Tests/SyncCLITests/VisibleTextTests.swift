import Testing

@testable import SyncCLI

@Suite struct VisibleTextTests {
    @Test(arguments: [
        ("plain name.pdf", "plain name.pdf"),
        ("a\nb\r\tc", #"a\nb\r\tc"#),
        ("\u{1B}[2J", #"\u{1B}[2J"#),
        ("nul\u{0}", #"nul\u{0}"#),
        ("\u{9B}31m\u{7F}", #"\u{9B}31m\u{7F}"#),
        ("evil\u{202E}gpj.exe\u{2066}\u{200F}", #"evil\u{202E}gpj.exe\u{2066}\u{200F}"#),
        ("한국어 👩‍👩‍👧‍👦 é", "한국어 👩‍👩‍👧‍👦 é"),
        (#"back\slash"#, #"back\slash"#),
    ])
    func `what could act on a terminal is visible`(text: String, visible: String) {
        #expect(text.visible == visible)
        #expect(text.visible.visible == visible)
    }

    @Test func `a longer text keeps its lines`() {
        #expect("one\n\ttwo\u{7}\r\n".visibleLines == "one\n\ttwo\\u{7}\\r\n")
    }

    @Test(arguments: [
        ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("한국어", 6), ("\u{1112}\u{1161}\u{11AB}", 2),
        ("日本", 4), ("ｱ", 1), ("Ａ", 2), ("😀", 2), ("👩‍👩‍👧‍👦", 2), ("🇰🇷", 2), ("☎", 1), ("☎\u{FE0F}", 2),
        ("a\u{200B}b", 2),
    ])
    func `a width counts columns`(text: String, columns: Int) {
        #expect(text.width == columns)
    }

    @Test(arguments: [
        ("abcdef", 6, "abcdef"), ("abcdef", 5, "abcd…"), ("abcdef", 1, "…"), ("abcdef", 0, ""),
        ("한국어", 6, "한국어"), ("한국어", 5, "한국…"), ("한국어", 4, "한…"), ("👩‍👧👩‍👧", 3, "👩‍👧…"),
    ])
    func `a cut never splits a character and never takes more room`(
        text: String, columns: Int, cut: String
    ) {
        #expect(text.cut(to: columns) == cut)
        #expect(text.cut(to: columns).width <= columns)
    }

    @Test func `filling counts columns too`() {
        #expect("한".padded(to: 4) == "한  ")
        #expect("7".padded(to: 3, alignment: .right) == "  7")
        #expect("long".padded(to: 2) == "long")
    }
}
