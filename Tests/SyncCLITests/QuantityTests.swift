import Testing

@testable import SyncCLI

@Suite struct QuantityTests {
    @Test(arguments: [
        ("0", 0), ("512", 512), ("500k", 512_000), ("2M", 2_097_152), ("2m", 2_097_152),
        ("1G", 1_073_741_824), ("007", 7),
    ])
    func `an amount is digits and one letter`(text: String, bytes: Int) {
        #expect(Quantity.parse(text) == bytes)
    }

    @Test(arguments: [
        "", "k", "-1", "+1", "1.5M", "1 M", "1MB", "1T", "0x10", "1e6", "٥", "9223372036854775808",
        "9223372036854775807k", "８",
    ])
    func `nonsense is no amount`(text: String) {
        #expect(Quantity.parse(text) == nil)
    }

    @Test(
        arguments: [
            (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"),
            (65_537, "64.0 KiB"),
            (102_348, "99.9 KiB"), (102_400, "100 KiB"), (1_048_063, "1023 KiB"),
            (1_048_064, "1.0 MiB"),
            (5 << 20, "5.0 MiB"), (1 << 40, "1.0 TiB"), (Int64.max, "8.0 EiB"),
        ] as [(Int64, String)])
    func `a size has three digits or so`(bytes: Int64, text: String) {
        #expect(Quantity.size(bytes) == text)
    }

    @Test(arguments: [
        (0.0, "0:00"), (3.2, "0:04"), (59.5, "1:00"), (754.0, "12:34"), (3_723.0, "1:02:03"),
    ])
    func `a time rounds up`(seconds: Double, text: String) {
        #expect(Quantity.time(seconds) == text)
    }

    @Test func `decimals keep their zeros`() {
        #expect(Quantity.decimal(4.04, places: 1) == "4.0")
        #expect(Quantity.decimal(4.056, places: 2) == "4.06")
        #expect(Quantity.decimal(0.004, places: 2) == "0.00")
        #expect(Quantity.decimal(9.96, places: 1) == "10.0")
        #expect(Quantity.decimal(12.5, places: 0) == "13")
    }
}
