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
        let (log, head) = try account().read { ($0.entries, $0.head) }

        let edit = actions.pageEdit
        let start = log.index(after: page?.seq ?? after, page?.id)
        let end = log.endOfPage(from: start, limit: limit)
        var next = end < log.slots.count ? log.slots[end - 1] : nil
        if edit?.next == .again { next = start > 0 ? log.slots[start - 1] : nil }
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
        let shownHead: String? =
            switch edit?.head {
            case nil: head
            case PageEdit.Head.none?: nil
            case .text(let text)?: text
            }

        var headers = [Header("Content-Type", "application/json")]
        if let token {
            let limit = try query("limit").map { "&limit=\($0)" } ?? ""
            let address = "\(origin)/v1/manifest?after=\(after)&page=\(token)\(limit)"
            headers.append(Header("Link", "<\(address)>; rel=\"next\""))
        }
        let slots = edit?.isEmpty == true ? log.slots[start..<start] : log.slots[start..<end]
        let rest = "],\"next\":\(JSONTree(token).text),\"head\":\(JSONTree(shownHead).text)}"
        return Answer(
            200, headers: headers,
            body: PageBytes(before: "{\"entries\":[", slots, of: log, after: rest))
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
        let log = try account().read { $0.entries }
        return Answer(
            200, headers: [Header("Content-Type", "application/json")],
            body: PageBytes(before: "{\"entries\":[", log.find(ids)[...], of: log, after: "]}"))
    }

    /// `GET /v1/manifest/head`: the head, as soon as it is above a seq.
    func head() throws(Refusal) -> Outcome {
        let after = try number("after") ?? 0
        let wait = Double(min(try number("wait") ?? 0, 50))
        let (head, seq) = try account().read { ($0.head, $0.headSeq) }
        if let head, seq > after { return .answer(.json(["head": .string(head)])) }
        return waited < wait ? .wait(seconds: wait) : .answer(Answer(204))
    }
}

extension EntryLog {
    /// Where a page that begins at `start` ends: at the limit or at 16 MiB, but with one entry.
    func endOfPage(from start: Int, limit: Int) -> Int {
        var end = start
        var bytes = 0
        while end < slots.count, end - start < limit {
            bytes += Int(slots[end].length) + 1
            if bytes > 16 << 20, end > start { break }
            end += 1
        }
        return end
    }
}
