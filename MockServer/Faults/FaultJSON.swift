import Foundation

/// Faults as JSON, for shell scripts: `{"method":"GET","path":"/v1/blobs/","times":1,"flip":70}`.
///
/// Strict: a key that nobody knows is an error, so that a misspelt fault does not pass unnoticed.
struct FaultReader {
    /// Finds the gate of a name.
    let gate: (String) -> FaultGate

    /// Reads one fault or an array of them.
    func faults(_ tree: JSONTree) throws(SetupError) -> [Fault] {
        var faults: [Fault] = []
        for element in tree.array ?? [tree] { faults.append(try fault(element)) }
        return faults
    }

    private func fault(_ tree: JSONTree) throws(SetupError) -> Fault {
        guard case .object(let members) = tree else { throw SetupError("a fault is an object") }
        var fault = Fault(.all)
        for (key, value) in members {
            switch key {
            case "method": fault.match.method = try text(key, value)
            case "path": fault.match.path = try text(key, value)
            case "regex": fault.match.regex = try text(key, value)
            case "query": fault.match.query = try text(key, value)
            case "range": fault.match.range = value.bool
            case "skip": fault.skip = try integer(key, value)
            case "times": fault.times = try integer(key, value)
            case "code", "headers", "body", "bodyBase64": break
            case "status": fault.actions.append(try answer(tree))
            default: fault.actions += try actions(key, value)
            }
        }
        if tree["status"] == nil { fault.actions += try headers(tree).map { .header($0.0, $0.1) } }
        return fault
    }

    /// The answer that `status`, `code`, `headers`, `body` and `bodyBase64` make.
    private func answer(_ tree: JSONTree) throws(SetupError) -> FaultAction {
        let status = try integer("status", tree["status"] ?? .null)
        let lines = try headers(tree).map { Header($0.0, $0.1 ?? "") }
        if let code = tree["code"]?.string { return .problem(status, code: code, headers: lines) }
        var body = Array((tree["body"]?.string ?? "").utf8)
        if let text = tree["bodyBase64"]?.string {
            guard let data = Data(base64Encoded: text) else {
                throw SetupError("bodyBase64 is not")
            }
            body = [UInt8](data)
        }
        return .answer(status: status, headers: lines, body: body)
    }

    private func headers(_ tree: JSONTree) throws(SetupError) -> [(String, String?)] {
        guard let headers = tree["headers"] else { return [] }
        guard case .object(let members) = headers else {
            throw SetupError("headers is not an object")
        }
        return members.map { ($0.key, $0.value.string) }
    }

    private func actions(_ key: String, _ value: JSONTree) throws(SetupError) -> [FaultAction] {
        switch key {
        case "delay": [.delay(try number(key, value))]
        case "hold": [.hold(gate(try text(key, value)))]
        case "rate": [.rate(try integer(key, value))]
        case "pace":
            [
                .pace(
                    bytes: try integer("pace.bytes", value["bytes"] ?? .null),
                    seconds: try number("pace.seconds", value["seconds"] ?? .null))
            ]
        case "cut": [.cut(at: try point(key, value), try ending(value["ending"]))]
        case "stall":
            [.stall(at: try point(key, value), gate(value["gate"]?.string ?? "stall"))]
        case "cutBody": [.cutBody(at: try point(key, value), try ending(value["ending"]))]
        case "stallBody":
            [.stallBody(at: try point(key, value), gate(value["gate"]?.string ?? "stall"))]
        case "framing": [.framing(try framing(value))]
        case "drop": [.drop(try ending(value["ending"]), handling: value["handling"]?.bool ?? true)]
        case "redirect": [.redirect(to: try text(key, value))]
        case "signed": [.redirectToSigned(origin: value.string)]
        case "flip": [.flip(at: UInt64(try integer(key, value)))]
        case "truncate": [.truncate(to: UInt64(try integer(key, value)))]
        case "serve": [.serve(blob: try text(key, value))]
        case "ignoreRange": [.ignoreRange]
        case "multipart": [.multipart]
        case "shiftRange":
            [
                .shiftRange(
                    by: Int64(try integer(key, value["by"] ?? value)),
                    isTold: value["told"]?.bool ?? true)
            ]
        case "unaskedRange":
            [
                .unaskedRange(
                    first: UInt64(try integer("unaskedRange.first", value["first"] ?? .null)),
                    last: UInt64(try integer("unaskedRange.last", value["last"] ?? .null)))
            ]
        case "page": [.page(try page(value))]
        case "html": [.html(try integer(key, value))]
        case "then": try effects(value).map { .then($0) }
        default: throw SetupError("a fault has no \(key)")
        }
    }

    /// Names of changes at the server: one, or an array of them.
    func effects(_ value: JSONTree) throws(SetupError) -> [FaultAction.Effect] {
        var effects: [FaultAction.Effect] = []
        for name in value.array ?? [value] {
            guard let effect = name.string.flatMap(FaultAction.Effect.init(rawValue:)) else {
                let all = FaultAction.Effect.allCases.map(\.rawValue).joined(separator: ", ")
                throw SetupError("\(name.text) is none of \(all)")
            }
            effects.append(effect)
        }
        return effects
    }

    private func page(_ value: JSONTree) throws(SetupError) -> PageEdit {
        guard case .object(let members) = value else { throw SetupError("page is not an object") }
        var edit = PageEdit()
        for (key, value) in members {
            switch (key, value) {
            case ("empty", .bool(let isEmpty)): edit.isEmpty = isEmpty
            case ("next", .null): edit.next = PageEdit.Next.none
            case ("next", "again"): edit.next = .again
            case ("next", "repeated"): edit.next = .repeated
            case ("next", .string(let text)): edit.next = .text(text)
            case ("head", .null): edit.head = PageEdit.Head.none
            case ("head", .string(let text)): edit.head = .text(text)
            default: throw SetupError("page has no such \(key)")
            }
        }
        return edit
    }

    private func point(_ key: String, _ value: JSONTree) throws(SetupError) -> Delivery.Point {
        if let fraction = value["fraction"]?.double { return .fraction(fraction) }
        return .bytes(UInt64(try integer("\(key).bytes", value["bytes"] ?? .null)))
    }

    private func ending(_ value: JSONTree?) throws(SetupError) -> Delivery.Ending {
        switch value {
        case nil, "close": .close
        case "reset": .reset
        default: throw SetupError("ending is neither close nor reset")
        }
    }

    private func framing(_ value: JSONTree) throws(SetupError) -> Delivery.Framing {
        switch value {
        case "length": .length
        case "chunked": .chunked
        case "untilClose": .untilClose
        default: .claimed(UInt64(try integer("framing.claimed", value["claimed"] ?? .null)))
        }
    }

    private func text(_ key: String, _ value: JSONTree) throws(SetupError) -> String {
        guard let text = value.string else { throw SetupError("\(key) is not a string") }
        return text
    }

    private func integer(_ key: String, _ value: JSONTree) throws(SetupError) -> Int {
        guard let number = value.int, number >= 0 || key == "shiftRange" else {
            throw SetupError("\(key) is not a number")
        }
        return number
    }

    private func number(_ key: String, _ value: JSONTree) throws(SetupError) -> Double {
        guard let number = value.double, number >= 0 else {
            throw SetupError("\(key) is not a number")
        }
        return number
    }
}

extension FaultScript {
    /// Adds the faults of a JSON text: one object, or an array of them.
    @discardableResult
    func add(json bytes: [UInt8]) throws(SetupError) -> [ID] {
        let tree: JSONTree
        do { tree = try JSONTree(parsing: bytes) } catch {
            throw SetupError("the faults are not JSON: \(error)")
        }
        return try FaultReader(gate: gate).faults(tree).map { add($0) }
    }
}
