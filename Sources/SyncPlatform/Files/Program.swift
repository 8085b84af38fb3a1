import Glibc

/// Another program that is started and left to itself.
package enum Program {
    /// Starts a program from the search path, with the environment but none of our open files.
    ///
    /// Returns when it is there; what becomes of it is not waited for.
    /// - Throws: `notFound` if there is no such program.
    package static func start(_ words: [String]) throws(FileError) {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Threads of the pool block all signals and we ignore SIGPIPE; a child would inherit both.
        var none = sigset_t()
        var pipe = sigset_t()
        sigemptyset(&none)
        sigemptyset(&pipe)
        sigaddset(&pipe, SIGPIPE)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &pipe)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var process = pid_t()
        let code = posix_spawnp(
            &process, words.first ?? "", nil, &attributes, &arguments, environ)
        guard code == 0 else {
            throw FileError(errno: code, operation: "start", path: words.first ?? "")
        }
    }
}
