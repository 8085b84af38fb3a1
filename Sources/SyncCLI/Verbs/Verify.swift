import LazySync

extension Option {
    fileprivate static let sample = value("sample", "P")
    fileprivate static let repair = flag("repair")
}

extension Verb {
    static let verify = Verb(
        name: "verify",
        summary: "check the catalog, the files and the head against each other",
        usage: """
            usage: sync verify [--sample P] [--repair]

            Checks the catalog, every file in the cache, what waits to be sent, the trash, and the
            last verified head against each other; nothing is sent. A file that was touched since it was
            proved is read and proved again, the others are only looked at. Exits with 5 if something is
            wrong; the summary says what, and what was done. If all that was found was repaired, it
            exits with 0.

            options
              --sample P          also prove every byte of P percent of the files, chosen by chance;
                                  100 is all of them. Interrupted, the next run with the same P goes
                                  on where it was
              --repair            put right what is wrong: damaged chunks are fetched again when the
                                  file is opened, files that are gone are forgotten, what no record
                                  knows is removed, and counts are set right; pins stay

            examples
              sync verify
              sync verify --sample 10 --repair
              sync verify --sample 100 --json | jq .problems
            """,
        options: [.sample, .repair],
        run: verify)

    private static func verify(_ context: Context) async throws -> ExitCode {
        let options = VerifyOptions(
            sample: try context.arguments.integer(.sample, in: 1...100),
            repair: context.arguments.has(.repair))
        let engine = try await context.openEngine()
        let report = try await context.console.withProgress { feed in
            try await engine.verify(options, progress: feed.ofVerify)
        }
        context.console.print(report.json, text: report.lines(context.console.output))
        guard report.isRight || report.isRepaired else {
            throw Failure(
                partial: report.summary,
                hint: report.hint(isRepair: options.repair))
        }
        if report.isRepaired {
            context.console.note(
                "\(report.summary); what is not here any more comes when it is opened")
        }
        return .done
    }
}

extension VerifyReport {
    var json: JSON {
        [
            "checked": .integer(checked),
            "spooled": .integer(spooled),
            "proved": .integer(proved),
            "bytes": .integer(bytes),
            "skipped": .integer(skipped),
            "found": .integer(found),
            "repaired": .integer(repaired),
            "problems": .array(problems.map(\.json)),
            "head": head.map { .bool($0) } ?? .null,
            "resumed": .bool(resumed),
        ]
    }

    /// Whether all that was wrong was put right, and nothing is left to be looked at.
    fileprivate var isRepaired: Bool { found > 0 && repaired == found && skipped == 0 }

    fileprivate func lines(_ output: Output) -> [String] {
        let facts = output.facts([
            "checked": Quantity.count(checked, "file"),
            "waiting": spooled == 0 ? nil : Quantity.count(spooled, "blob"),
            "proved": "\(Quantity.count(proved, "file")), \(Quantity.size(bytes))"
                + (resumed ? ", beside those of the check that was interrupted" : ""),
            "skipped": skipped == 0 ? nil : "\(skipped) that cannot be read now",
            "head": head.map { $0 ? "fits" : "does not fit" } ?? "not checked",
            "problems": found == 0 ? "none" : "\(found), \(repaired) repaired",
        ])
        return facts + problems.map { $0.line.visible }
            + (found > problems.count ? ["and \(found - problems.count) more"] : [])
    }

    /// What was wrong, in one line.
    fileprivate var summary: String {
        var parts = VerifyProblem.Kind.allCases.compactMap { kind -> String? in
            let count = problems.count { $0.kind == kind }
            return count == 0 ? nil : "\(kind.rawValue): \(count)"
        }
        if found > problems.count { parts.append("more: \(found - problems.count)") }
        if skipped > 0 { parts.append("skipped: \(skipped)") }
        let repairs =
            repaired == 0 ? "" : repaired == found ? "; all repaired" : "; repaired: \(repaired)"
        let words = isRepaired ? "not all was right" : "not all is right"
        return "\(words): \(parts.joined(separator: ", "))\(repairs)"
    }

    fileprivate func hint(isRepair: Bool) -> String? {
        if problems.contains(where: { $0.kind == .catalog }) {
            return "log out and in again; everything comes from the server again"
        }
        let cannotBeSent: Set<VerifyProblem.Kind> = [.spoolMissing, .spoolDamaged]
        if problems.contains(where: { cannotBeSent.contains($0.kind) }) {
            return "take what cannot be sent out of its item, and add the file again"
        }
        if head == false { return "restore, then verify again" }
        if repaired < found, !isRepair { return "'sync verify --repair' puts it right" }
        if repaired < found || skipped > 0 {
            return "somebody uses the rest, or it cannot be changed now; verify again later"
        }
        return nil
    }
}

extension VerifyProblem {
    fileprivate var json: JSON {
        [
            "kind": .string(kind.rawValue),
            "id": .string(orNull: key?.id.description),
            "item": .string(orNull: key?.item.description),
            "path": .string(orNull: path),
            "chunks": .array(chunks.map { .integer($0) }),
            "detail": .string(orNull: detail),
            "repaired": .bool(repaired),
        ]
    }

    /// The problem in one line.
    fileprivate var line: String {
        var parts = [kind.rawValue]
        if let key { parts.append("\(key.id)") }
        if let path { parts.append(path) }
        if !chunks.isEmpty {
            let first = chunks.prefix(8).map(String.init).joined(separator: ", ")
            parts.append("chunks \(first)" + (chunks.count > 8 ? ", and more" : ""))
        }
        if let detail { parts.append(detail) }
        if repaired { parts.append("repaired") }
        return parts.joined(separator: "  ")
    }
}
