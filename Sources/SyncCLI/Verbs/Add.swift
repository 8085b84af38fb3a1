import LazySync
import SyncPlatform

extension Option {
    fileprivate static let to = value("to", "ITEM")
}

extension Verb {
    static let add = Verb(
        name: "add",
        summary: "add files, or a note",
        usage: """
            usage: sync add FILE…
                   sync add --title T [--text-file F|-] [FILE…]
                   sync add --to ITEM FILE…

            Adds each file as an item of its own, called as the file is; with --title, all of them as
            one item, which is a note if there is no file; with --to, to an item that is there. It
            works offline, and 'sync push' sends it. What is sent is what the files are now, whatever
            becomes of them. Nothing is added if one of them is no file.

            Prints a line for each file: ITEM/ID, which the other verbs take; for a note, ITEM.

            options
              --title T           make one item with this title
              --text-file F|-     its text, from a file or standard input; with --title
              --to ITEM           add the files to this item

            examples
              sync add IMG_2041.jpg IMG_2042.jpg
              sync add --title 'Trip to Jeju' --text-file plan.md ticket.pdf map.png
              date | sync add --title 'A note' --text-file -
              sync add --to 9d41c7e0 receipt.pdf
              sync add -- -odd-name.txt
            """,
        operands: .any("FILE"),
        options: [.title, .textFile, .to],
        run: add)

    private static func add(_ context: Context) async throws -> ExitCode {
        let files = context.arguments.operands
        let addition = try Addition(context.arguments)
        let text = try context.arguments.text()
        let engine = try await context.openEngine()
        let added = Locked<[AttachmentKey]>([])
        do {
            let report = try await context.console.withProgress { feed in
                switch addition {
                case .each:
                    return try await engine.add(files: files, progress: feed.ofAdd) { part in
                        added.withLock { $0 += part.attachments }
                    }
                case .one(let title):
                    return try await engine.add(
                        title: title, text: text, files: files, progress: feed.ofAdd)
                case .into(let id):
                    let item = try await engine.resolveItem(id)
                    return try await engine.add(files: files, to: item, progress: feed.ofAdd)
                }
            }
            context.console.print(context.console.output.lines(report.changed(files)))
            return .done
        } catch {
            // What is in the catalog is told, whatever came then.
            let before = Changed.of(added.withLock { $0 }, files)
            if before.isEmpty { throw error }
            context.console.print(context.console.output.lines(before))
            throw Task.isCancelled
                ? error : Failure(error, verbose: context.console.verbose).after(before.count)
        }
    }
}

/// What the words of `add` make of the files.
enum Addition: Equatable {
    /// Each is an item of its own.
    case each
    /// All are one item of this title.
    case one(title: String)
    /// All go into an item.
    case into(String)

    /// Reads what the options say.
    ///
    /// - Throws: a failure with exit 2 for what does not go together.
    init(_ arguments: Arguments) throws(Failure) {
        let hasFiles = !arguments.operands.isEmpty
        switch (arguments[.title], arguments[.to]) {
        case (_?, _?):
            throw arguments.wrong("--title makes a new item, --to takes one: not both")
        case (nil, _?) where arguments.has(.textFile):
            throw arguments.wrong("--text-file is for a new item; 'sync edit' changes a text")
        case (nil, nil) where arguments.has(.textFile):
            throw arguments.wrong("--text-file needs --title")
        case (nil, _) where !hasFiles:
            throw arguments.wrong("'add' needs FILE, or --title for a note")
        case (let title?, nil): self = .one(title: title)
        case (nil, let item?): self = .into(item)
        case (nil, nil): self = .each
        }
    }
}

extension AddReport {
    /// What was added, in the order of the files; a note is its item alone.
    fileprivate func changed(_ files: [String]) -> [Changed] {
        guard !attachments.isEmpty else { return items.map { Changed(item: $0) } }
        return Changed.of(attachments, files)
    }
}

extension Changed {
    /// The files that were added, as attachments.
    fileprivate static func of(_ keys: [AttachmentKey], _ files: [String]) -> [Changed] {
        zip(keys, files).map { Changed(item: $0.item, attachment: $0.id, file: $1) }
    }
}

extension Failure {
    /// The failure, where so many files were added before it.
    fileprivate func after(_ count: Int) -> Failure {
        var failure = Failure(.partial, code: code, message, hint: hint)
        failure.hint = "\(Quantity.count(count, "file")) before it: added, and printed"
        return failure
    }
}
