import SyncPlatform
@testable import TestSupport

@testable import LazySync
@testable import MockServer

/// What becomes of something that a device was asked to do.
enum Outcome {
    case done
    /// It could not, for a reason that the circumstances explain.
    case failed(SyncError)
    /// Its process ended in the middle, and was started again.
    case killed
}

/// A device does something, in the circumstances that the seed has for it.
extension World {
    /// What goes wrong with the requests of one act.
    enum Trouble: CustomStringConvertible {
        case none
        case offline
        /// Answers are lost after the server has done its work.
        case lost(Fault.Match, skip: Int, times: Int)
        /// Requests leave and do not arrive for now.
        case late(Fault.Match, times: Int)
        /// The server is in trouble.
        case refused(Fault.Match, skip: Int, times: Int)

        var description: String {
            switch self {
            case .none: ""
            case .offline: ", offline"
            case .lost(let match, let skip, let times):
                ", answers lost: \(match.name) from \(skip) on, \(times)"
            case .late(let match, let times): ", late: \(match.name), \(times)"
            case .refused(let match, let skip, let times):
                ", refused: \(match.name) from \(skip) on, \(times)"
            }
        }
    }

    /// Has a device do something; `killable` says whether its process may be killed meanwhile.
    func act(
        _ device: SimDevice, _ name: String, _ body: (SyncEngine) async throws(SyncError) -> Void
    ) async throws -> Outcome {
        let trouble = drawTrouble(device)
        let isKilled = character.kills && draws.chance(12)
        let deadline = isKilled ? draws.number(1...draws.number(2...30)) : nil
        let kill = deadline.map { ", killed after \($0)" } ?? ""
        note("device \(device.number): \(name)\(trouble)\(kill)")
        arm(trouble)
        device.killSwitch.arm(after: deadline)
        var failure: SyncError?
        do throws(SyncError) {
            try await body(device.engine)
        } catch {
            failure = error
        }
        device.killSwitch.arm(after: nil)
        takeLate(trouble, device)
        server.faults.clear()
        try noteDeletions()
        server.log.clear()
        if let point = device.killSwitch.point {
            note("    killed at '\(point)'")
            try await device.restart()
            return .killed
        }
        guard let failure else { return .done }
        note("    failed: \(failure.code) \(failure.operation): \(failure.detail)")
        switch (failure.code, trouble) {
        case (.unavailable(.signedOut), _) where hasLost || character.loses:
            // The answer to a refresh was lost for too long.
            try device.renewSession()
        case (.unavailable(.notFound), _) where name.hasPrefix("open"): break
        case (.unavailable, .none): throw Failure("unavailable without a reason: \(failure)")
        case (.unavailable, _), (.tooManyDeletions, _): break
        case (.noSuchID, _) where name.hasPrefix("open"): break
        default: throw Failure("\(name) failed: \(failure)")
        }
        return .failed(failure)
    }

    private func drawTrouble(_ device: SimDevice) -> Trouble {
        if device.offline > 0 { return .offline }
        guard character.loses, draws.chance(25) else { return .none }
        let push = Fault.Match.post("/v1/manifest")
        let put = Fault.Match.put("/v1/blobs/")
        let matches = [
            push, push, push, put, put, .patch("/v1/uploads/"), .head("/v1/blobs/"),
            .head("/v1/uploads/"), .get("/v1/manifest"), .get("/v1/blobs/"),
            .post("/v1/sessions/refresh"),
        ]
        let match = draws.one(of: matches) ?? .all
        // Once, so that the next try gets through, or so often that the act gives up.
        let times = draws.one(of: [1, 2, 1_000]) ?? 1
        let skip = draws.one(of: [0, 0, 0, 1, 2, 5]) ?? 0
        switch draws.number(0...9) {
        case 0...5: return .lost(match, skip: skip, times: times)
        case 6...7: return .late(draws.chance(70) ? push : put, times: times)
        default: return .refused(match, skip: skip, times: times)
        }
    }

    private func arm(_ trouble: Trouble) {
        let faults = server.faults
        faults.clear()
        switch trouble {
        case .none: break
        case .offline: faults.add(.all, .drop(handling: false))
        case .lost(let match, let skip, let times):
            faults.add(match, skip: skip, times: times, .drop(handling: true))
        case .late(let match, let times): faults.add(match, times: times, .drop(handling: false))
        case .refused(let match, let skip, let times):
            faults.add(match, skip: skip, times: times, .problem(500, code: "trouble"))
        }
        if full > 0 {
            faults.add(.put("/v1/blobs/"), .problem(507, code: "store-full"))
            faults.add(.patch("/v1/uploads/"), .problem(507, code: "store-full"))
        }
    }

    /// Keeps the requests that did not arrive, to be delivered some time later, and now and then one
    /// that did, to be delivered again.
    private func takeLate(_ trouble: Trouble, _ device: SimDevice) {
        guard character.loses else { return }
        for entry in server.log.entries.sorted(by: { $0.path < $1.path }) {
            let isPush = entry.method == "POST" && entry.path == "/v1/manifest"
            let isLate = if case .late = trouble { entry.fault != nil } else { false }
            guard isLate || isPush && draws.chance(20) else { continue }
            var request = Incoming(
                method: entry.method, path: entry.path, rawQuery: entry.query,
                headers: entry.headers, body: entry.body)
            if entry.method == "PUT" {
                // The log has no body that is taken as it comes.
                let record = entry.path.split(separator: "/").last.map(String.init) ?? ""
                guard let bytes = device.spooledBytes(record) else { continue }
                request.body = bytes
            } else if !isPush || entry.bodyCount != entry.body.count {
                continue
            }
            late.append(request)
        }
    }

    /// Delivers a request that left some time ago.
    func deliver(_ request: Incoming) {
        switch server.service.answer(request, []) {
        case .answer(let answer):
            note("delivered late: \(request.method) \(request.path): \(answer.status)")
        case .wait: note("delivered late: \(request.method) \(request.path)")
        }
    }
}

extension Fault.Match {
    fileprivate var name: String { "\(method ?? "") \(path ?? "")" }
}
