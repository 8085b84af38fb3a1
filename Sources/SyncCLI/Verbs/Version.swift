extension Verb {
    /// The version of the command.
    static let versionNumber = "0.1.0"

    static let version = Verb(
        name: "version",
        summary: "show the version",
        usage: """
            usage: sync version

            examples
              sync version
            """,
        run: { context in
            context.console.print(
                ["version": .string(versionNumber)], text: ["sync \(versionNumber)"])
            return .done
        })
}
