/// `/_mock/…`: what drives the server from a shell, when it was started with `--control`.
///
/// These calls need no token, meet no fault and leave no trace in the log.
enum Control {
    /// Answers one of them.
    static func answer(_ incoming: Incoming, _ service: Service) -> Answer {
        do throws(SetupError) {
            switch (incoming.method, incoming.path) {
            case ("POST", "/_mock/faults"):
                let ids = try service.faults.add(json: incoming.body)
                return .json(["added": .array(ids.map { JSONTree($0.number) })])
            case ("DELETE", "/_mock/faults"):
                service.faults.clear()
                return Answer(204)
            case ("GET", "/_mock/faults"): return faults(service)
            case ("GET", "/_mock/log"):
                let lines = service.log.entries.map { $0.tree.text + "\n" }.joined()
                return Answer(
                    200, headers: [Header("Content-Type", "application/jsonl")],
                    body: MemoryBytes(lines))
            case ("DELETE", "/_mock/log"):
                service.log.clear()
                return Answer(204)
            case ("POST", "/_mock/lies"):
                try lie(incoming, service)
                return Answer(204)
            case ("DELETE", "/_mock/lies"):
                tellTheTruth(service)
                return Answer(204)
            case ("POST", "/_mock/open"):
                // The gate of `?gate=NAME`, or the one that `stall` has when it names none.
                service.faults.gate(query("gate", incoming) ?? "stall").open()
                return Answer(204)
            case ("POST", "/_mock/then"):
                let reader = FaultReader(gate: service.faults.gate)
                let names = (query("effect", incoming) ?? "").split(separator: ",")
                for effect in try reader.effects(.array(names.map { .string(String($0)) })) {
                    service.perform(effect)
                }
                return Answer(204)
            default: return Refusal(404, "not-found", "There is no such control").answer
            }
        } catch {
            return Refusal.badRequest(error.description).answer
        }
    }

    private static func query(_ name: String, _ incoming: Incoming) -> String? {
        incoming.query.first { $0.name == name }?.value
    }

    private static func faults(_ service: Service) -> Answer {
        let list = service.faults.list().map { id, hits -> JSONTree in
            ["fault": JSONTree(id.number), "hits": JSONTree(hits)]
        }
        return .json(.array(list))
    }
}
