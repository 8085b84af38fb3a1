import Foundation

/// The command `mock-server`.
@main
enum Main {
    static func main() {
        signal(SIGPIPE, SIG_IGN)
        // Blocked before any thread is made, so that only `sigwait` below gets them.
        var endings = sigset_t()
        sigemptyset(&endings)
        sigaddset(&endings, SIGTERM)
        sigaddset(&endings, SIGINT)
        pthread_sigmask(SIG_BLOCK, &endings, nil)
        raiseFileLimit()
        do {
            let arguments = try Arguments(Array(CommandLine.arguments.dropFirst()))
            if arguments.wantsHelp {
                print(Arguments.usage)
                return
            }
            let server = try server(arguments)
            try server.start()
            print("listening on \(server.url)")
            fflush(nil)
            var signal: Int32 = 0
            sigwait(&endings, &signal)
            server.stop()
        } catch {
            FileHandle.standardError.write(Data("mock-server: error: \(error)\n".utf8))
            exit(2)
        }
    }

    /// Thousands of connections, each with a blob open, need more files than the usual 1,024.
    private static func raiseFileLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    private static func server(_ arguments: Arguments) throws(SetupError) -> Server {
        var options = ServerOptions(
            tokenLifetime: arguments.tokenLifetime, blobOrigin: arguments.blobs,
            hasControl: arguments.hasControl, logFile: arguments.log)
        options.limits = arguments.limits
        options.takesAccounts = arguments.takesAccounts
        let disk = Disk(syncs: arguments.syncs, end: arguments.end)
        let data = try arguments.data.map { path throws(SetupError) in
            try DataFolder(path, disk: disk)
        }
        let server = try Server(
            accounts: arguments.accounts.map { URL(fileURLWithPath: $0) }, port: arguments.port,
            options: options, data: data)
        if let file = arguments.faults {
            guard let data = FileManager.default.contents(atPath: file) else {
                throw SetupError("cannot read \(file)")
            }
            try server.faults.add(json: [UInt8](data))
        }
        return server
    }
}
