/// The command line of `mock-server`, read without doing anything.
struct Arguments: Equatable {
    var accounts: [String] = []
    var port: UInt16 = 0
    var faults: String?
    var log: String?
    var hasControl = false
    var tokenLifetime = 3600
    var blobs = ServerOptions.BlobOrigin.none
    var data: String?
    /// Whether what is kept in `data` has to outlive a power cut.
    var syncs = true
    /// When the process is killed.
    var end = Disk.End.never
    var limits = ServedAccount.Limits()
    var takesAccounts = true
    var wantsHelp = false

    static let usage = """
        usage: mock-server [--account DIR…] [--data DIR] [--port 0] [--token-lifetime SECONDS]
                           [--blobs own|URL] [--faults FILE] [--log FILE] [--control]
                           [--largest-blob BYTES] [--capacity BYTES] [--closed]

        Serves account folders and new accounts on 127.0.0.1. The first line on standard output is
        "listening on http://127.0.0.1:PORT". SIGTERM and SIGINT end it.

          --account DIR     account.json, entries.jsonl and blobs/NAME; several times for several
          --data DIR        keeps accounts, keys, pushes and blobs that clients send; without it they
                            are gone with the process. The account folders are never changed
          --no-fsync        with --data: a kill still loses nothing, a power cut may
          --kill-after N    with --data: kills the process before its next step at the disk
          --port PORT       0, the default, takes a free one
          --blobs own|URL   names another address for blobs at login: this server without a token,
                            or a second mock-server with the same account
          --faults FILE     what goes wrong: a JSON array, such as
                            [{"method":"GET","path":"/v1/blobs/","times":1,"cut":{"fraction":0.6}}]
          --largest-blob N  413 for blobs of more bytes
          --capacity N      507 for blobs when an account has so many bytes of uploads
          --closed          403 for new accounts
          --log FILE        each request when it has ended, one JSON object a line
          --control         lets requests to /_mock/ drive the server:
                            POST, GET, DELETE /_mock/faults    GET, DELETE /_mock/log
                            POST, DELETE /_mock/lies
                            POST /_mock/open?gate=NAME         POST /_mock/then?effect=expireTokens

        A fault is a JSON object. A POINT is {"bytes":N} or {"fraction":0.5}; "ending" in it is "close"
        or "reset".
          which requests    "method" "path" (how it begins) "regex" "query" "range":true|false
          how often         "skip":N pass unharmed first, "times":N are hit after that; else all
          the answer        "status":N, with "code" (a problem document), "headers":{NAME:VALUE},
                            "body" or "bodyBase64"; "html":STATUS; "redirect":URL; "signed":ORIGIN;
                            "drop":{"ending":"reset","handling":false}
          headers alone     "headers":{NAME:VALUE|null} without "status"
          the way           "delay":SECONDS "rate":BYTES_A_SECOND "hold":GATE "cut":POINT
                            "pace":{"bytes":N,"seconds":S} "stall":POINT with "gate"
                            "framing":"length"|"chunked"|"untilClose"|{"claimed":N}
          a blob            "flip":OFFSET "truncate":LENGTH "serve":RECORD
          ranges            "ignoreRange":true "multipart":true "shiftRange":{"by":N,"told":false}
                            "unaskedRange":{"first":N,"last":N}
          a manifest page   "page":{"empty":true,"next":null|"again"|"repeated"|TEXT,"head":null|TEXT}
          a request's body  "cutBody":POINT "stallBody":POINT with "gate"
          afterwards        "then":"expireTokens"|"endSessions"|"expireCursors"|"expireSigned"

        A lie is {"account":NAME,"lie":LIE}, to everybody, to "device":NAME or to "session":N. LIE is
        oldHead or rolledBack (with "seq":"N"), withheld (with "ids":[…]), foreign (with
        "from":ACCOUNT), allRemoved, noEntries, neverUsed, noBlobs or fork.
        """

    /// Reads the words after the command's name.
    init(_ words: [String]) throws(SetupError) {
        var rest = words[...]
        func value(_ word: String) throws(SetupError) -> String {
            guard let value = rest.popFirst() else { throw SetupError("\(word) needs a value") }
            return value
        }
        func number(_ word: String) throws(SetupError) -> UInt64 {
            guard let number = Decimal64.parse(try value(word)), number <= Int.max else {
                throw SetupError("\(word) needs a number")
            }
            return number
        }
        while let word = rest.popFirst() {
            switch word {
            case "--account": accounts.append(try value(word))
            case "--port":
                guard let number = UInt16(try value(word)) else {
                    throw SetupError("--port needs a number up to 65535")
                }
                port = number
            case "--token-lifetime":
                guard let seconds = Int(try value(word)), seconds > 0 else {
                    throw SetupError("--token-lifetime needs a number of seconds")
                }
                tokenLifetime = seconds
            case "--blobs":
                let address = try value(word)
                blobs = address == "own" ? .own : .server(address)
            case "--faults": faults = try value(word)
            case "--log": log = try value(word)
            case "--control": hasControl = true
            case "--help", "-h": wantsHelp = true
            case "--data": data = try value(word)
            case "--no-fsync": syncs = false
            case "--kill-after": end = .kill(after: Int(try number(word)))
            case "--largest-blob": limits.blob = try number(word)
            case "--capacity": limits.total = try number(word)
            case "--closed": takesAccounts = false
            default: throw SetupError("unknown word: \(word)")
            }
        }
        guard wantsHelp || !accounts.isEmpty || data != nil else {
            throw SetupError("--account and --data are missing")
        }
        guard data != nil || (syncs && end == .never) else {
            throw SetupError("--no-fsync and --kill-after need --data")
        }
    }
}
