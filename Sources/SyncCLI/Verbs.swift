extension Verb {
    /// The table of verbs, in the order of the help.
    static let all: [Verb] = [
        .create, .login, .restore, .list, .items, .show, .open, .save, .thumb, .retry, .explain,
        .add, .edit, .remove, .trash, .untrash, .push, .run, .watch, .pin, .unpin, .evict, .cache,
        .verify,
        .status, .export, .import, .importLegacy, .recoveryKey, .passphrase, .trust, .adopt,
        .logout, .help, .version,
    ]
}
