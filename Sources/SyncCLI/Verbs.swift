extension Verb {
    /// The table of verbs, in the order of the help.
    static let all: [Verb] = [
        .create, .login, .restore, .list, .items, .show, .open, .save, .thumb, .retry, .explain,
        .pin, .unpin, .evict, .cache, .verify, .status, .export, .import, .importLegacy,
        .recoveryKey, .passphrase, .adopt, .logout, .help, .version,
    ]
}
