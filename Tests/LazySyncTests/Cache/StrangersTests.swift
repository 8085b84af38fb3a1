import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Something else stands where a file of the cache was.
@Suite struct StrangersTests {
    enum Stranger: String, CaseIterable {
        case folder, link, pipe, file

        func make(at path: String, target: String) throws {
            try? FileManager.default.removeItem(atPath: path)
            switch self {
            case .folder:
                try FileManager.default.createDirectory(
                    atPath: path + "/deep", withIntermediateDirectories: true)
            case .link:
                try FileManager.default.createSymbolicLink(
                    atPath: path, withDestinationPath: target)
            case .pipe: #expect(mkfifo(path, 0o600) == 0)
            case .file: try Data("not a folder".utf8).write(to: URL(filePath: path))
            }
        }
    }

    /// What of a record is replaced.
    enum Part: String, CaseIterable {
        case content, tags, place

        var strangers: [Stranger] {
            self == .place ? [.link, .pipe, .file] : [.folder, .link, .pipe]
        }

        func path(_ file: OneFile) throws -> String {
            switch self {
            case .content: try #require(try file.place.contentPath())
            case .tags: try file.place.tags
            case .place: try file.place.folder
            }
        }
    }

    private static let cases = Part.allCases.flatMap { part in part.strangers.map { (part, $0) } }

    @Test(arguments: cases)
    func `the next open removes it and brings the file`(part: Part, stranger: Stranger) async throws
    {
        try await withOneFile { file in
            try await file.open()
            let other = file.home.folder.path + "/somebody's"
            try Data("theirs".utf8).write(to: URL(filePath: other))
            try stranger.make(at: try part.path(file), target: other)
            // What only the tags lack is looked at when the file has changed.
            let path = try file.place.contentPath()
            if part == .tags { #expect(utimes(known(path), nil) == 0) }
            let reader = try await file.engine.reader(for: file.key)
            let some = try await reader.read(at: 70_000, count: 9)
            #expect(some == Array(file.content[70_000..<70_009]))
            try await file.open()
            #expect(try String(contentsOfFile: other, encoding: .utf8) == "theirs")
            #expect(try await file.engine.verify().isRight)
        }
    }

    @Test(arguments: cases)
    func `a check tells it, and repairs it`(part: Part, stranger: Stranger) async throws {
        try await withOneFile { file in
            try await file.open()
            let other = file.home.folder.path + "/somebody's"
            try Data("theirs".utf8).write(to: URL(filePath: other))
            try stranger.make(at: try part.path(file), target: other)
            let found = try await file.engine.verify()
            #expect(found.problems.map(\.kind) == [.damaged] && !found.isRight)
            let repaired = try await file.engine.verify(VerifyOptions(repair: true))
            #expect(repaired.problems.map(\.repaired) == [true])
            #expect(try await file.engine.verify().isRight)
            #expect(try await file.engine.explain(file.key).attachment.state == .remote)
            #expect(try String(contentsOfFile: other, encoding: .utf8) == "theirs")
            try await file.open()
        }
    }
}
