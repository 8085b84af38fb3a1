/// One option, such as `--json` or `--limit N`.
struct Option: Sendable, Hashable {
    /// The name without the dashes.
    let name: String
    /// What its value is called in the help; nil for a flag, which takes none.
    let value: String?

    /// An option that is there or not.
    static func flag(_ name: String) -> Option { Option(name: name, value: nil) }

    /// An option with a value, written `--name VALUE` or `--name=VALUE`.
    static func value(_ name: String, _ value: String) -> Option {
        Option(name: name, value: value)
    }
}

extension Option {
    static let home = Option.value("home", "DIR")
    static let json = Option.flag("json")
    static let quiet = Option.flag("quiet")
    static let verbose = Option.flag("verbose")
    /// The options of every verb.
    static let common = [home, json, quiet, verbose]
    /// The option of every verb that uses the network.
    static let limitRate = Option.value("limit-rate", "R")

    /// The help's lines about the options of every verb.
    static let commonUsage = """
        options of every verb
          --home DIR          keep everything under DIR
          --json              print one JSON object a line; errors are objects on standard error
          --quiet             print results and errors, nothing else
          --verbose           say more about what happened
        """
    static let limitRateUsage = """
          --limit-rate R      move at most R bytes a second: 500k, 2M (k, M and G are 1024s)
        """
}
