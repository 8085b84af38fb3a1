extension Call {
    /// `GET /v1/manifest`: a page of what changed after a seq.
    func manifest() throws(Refusal) -> Answer {
        let after = try number("after") ?? 0
        let limit = min(try limit(), service.options.largestPage)
        let pageText = try query("page")
        let page = try pageText.map { text throws(Refusal) in
            try PageToken(text, after: after, now: service.now)
        }
        let session = member?.session ?? 0
        let epoch = try service.sessions.with { book throws(Refusal) in
            try book.useCursor(session, after: after, pageEpoch: page?.epoch)
        }
        // Cut out under the lock, so that no push has to copy the list because somebody reads it.
        var (shown, head) = try account().read { state in
            let manifest = state.manifest(for: member)
            let entries = manifest.entries
            return (
                entries.page(after: page?.seq ?? after, page?.id, limit: limit), manifest.head
            )
        }

        let edit = actions.pageEdit
        var next = shown.hasMore ? shown.last : nil
        if edit?.next == .again { next = shown.before }
        var token = next.map { slot in
            PageToken(after: after, seq: slot.seq, id: slot.id, epoch: epoch, now: service.now).text
        }
        switch edit?.next {
        case .again where next == nil:
            token =
                PageToken(after: after, seq: after, id: nil, epoch: epoch, now: service.now).text
        case .repeated: token = pageText
        case PageEdit.Next.none?: token = nil
        case .text(let text): token = text
        default: break
        }
        switch edit?.head {
        case nil: break
        case PageEdit.Head.none?: head = nil
        case .text(let text)?: head = text
        }

        var headers = [Header("Content-Type", "application/json")]
        if let token {
            let limit = try query("limit").map { "&limit=\($0)" } ?? ""
            let address = "\(origin)/v1/manifest?after=\(after)&page=\(token)\(limit)"
            headers.append(Header("Link", "<\(address)>; rel=\"next\""))
        }
        if edit?.isEmpty == true { shown.slots = [] }
        let rest = "],\"next\":\(JSONTree(token).text),\"head\":\(JSONTree(head).text)}"
        return Answer(
            200, headers: headers,
            body: PageBytes(before: "{\"entries\":[", shown, after: rest))
    }

    /// `GET /v1/manifest/entries`: entries by their ids.
    func entries() throws(Refusal) -> Answer {
        var ids: Set<EntryID> = []
        let texts = incoming.query.filter { $0.name == "id" }.map(\.value)
        guard texts.count <= 100 else { throw .badRequest("More than 100 ids") }
        for text in texts {
            guard let id = EntryID(text) else { throw .badRequest("id is not 32 hex digits") }
            ids.insert(id)
        }
        let found = try account().read { $0.manifest(for: member).entries.find(ids) }
        return Answer(
            200, headers: [Header("Content-Type", "application/json")],
            body: PageBytes(before: "{\"entries\":[", found, after: "]}"))
    }

    /// `GET /v1/manifest/head`: the head, as soon as it is above a seq.
    func head() throws(Refusal) -> Outcome {
        let after = try number("after") ?? 0
        let wait = Double(min(try number("wait") ?? 0, 50))
        let (head, seq) = try account().read { state in
            let shown = state.manifest(for: member)
            return (shown.head, shown.headSeq)
        }
        if let head, seq > after { return .answer(.json(["head": .string(head)])) }
        return waited < wait ? .wait(seconds: wait) : .answer(Answer(204))
    }
}
