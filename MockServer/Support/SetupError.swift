/// Why a server cannot do what it was told: one sentence for whoever told it.
struct SetupError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
