internal import SyncPlatform

/// Writes the catalog as an export, as the server has it: line by line, with as much memory for a million as for one.
struct ExportPass: Sendable {
    let catalog: Catalog
    let scope: Settings.Scope

    private static let blockCount = 1 << 18

    /// Hands the file's bytes to `write`, in blocks, from one snapshot of the catalog.
    func run(
        _ write: @escaping @Sendable (Span<UInt8>) throws -> Void
    ) async throws(SyncError) -> ExportReport {
        try await catalog.inspect("export") { [scope] connection in
            let output = Output(write)
            let header = ExportHeader(
                account: scope.account, name: scope.name, server: scope.server,
                head: try connection.exportedHead())
            try output.add(.header(header))
            let changed = try connection.forEachExported { line in
                // Also where whoever writes is what takes long.
                try Task.checkCancellation()
                try output.add(line)
            }
            var report = try output.finish()
            report.unsent = changed
            return report
        }
    }

    /// Collects lines into blocks, and keeps count and digest of them.
    private final class Output {
        private let write: (Span<UInt8>) throws -> Void
        private var block: [UInt8] = []
        private var hash: HashState? = HashState()
        private var end = ExportEnd()
        private var report = ExportReport()

        init(_ write: @escaping (Span<UInt8>) throws -> Void) {
            self.write = write
            block.reserveCapacity(ExportPass.blockCount * 2)
        }

        func add(_ line: ExportLine) throws {
            switch line {
            case .entry(let entry):
                end.entries += 1
                end.attachments += entry.item?.attachments.count ?? 0
                report.items += entry.item == nil ? 0 : 1
            case .staged: end.staged += 1
            case .header, .end: break
            }
            block += line.bytes
            if block.count >= ExportPass.blockCount { try flush() }
        }

        func finish() throws -> ExportReport {
            try flush()
            if let hash = hash.take() { end.digest = [UInt8](copying: hash.finish().span) }
            block += ExportLine.end(end).bytes
            let last = block
            try write(last.span)
            report.bytes += Int64(last.count)
            report.entries = end.entries
            report.attachments = end.attachments
            report.waiting = end.staged
            return report
        }

        private func flush() throws {
            let bytes = block
            hash?.update(bytes.span)
            try write(bytes.span)
            report.bytes += Int64(bytes.count)
            block.removeAll(keepingCapacity: true)
        }
    }
}
