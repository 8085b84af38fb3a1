import CCurl

/// Runs transfers on its thread until the client is gone.
final class CurlLoop {
    private let thread: CurlThread
    private let curl: Curl
    private let multi: UnsafeMutableRawPointer
    private var active: [CurlTransfer] = []
    private var spares: [CurlEasy] = []
    private var lanes: [String: CurlLane] = [:]
    /// Lanes with a queue, in the order in which they get their turn.
    private var busy: [CurlLane] = []
    private var messages: [CurlThread.Message] = []
    private var nextCheck = ContinuousClock.now

    init(_ thread: CurlThread, _ curl: Curl, _ multi: UnsafeMutableRawPointer) {
        self.thread = thread
        self.curl = curl
        self.multi = multi
        let limit = CLong(thread.configuration.maxConcurrentTransfers)
        curl_multi_setopt_long(curl.multiSetopt, multi, CURLMOPT_MAXCONNECTS, limit)
        curl_multi_setopt_long(
            curl.multiSetopt, multi, CURLMOPT_MAX_HOST_CONNECTIONS,
            CLong(thread.configuration.maxConnectionsPerHost))
        curl_multi_setopt_long(
            curl.multiSetopt, multi, CURLMOPT_PIPELINING, CLong(CURLPIPE_MULTIPLEX))
    }

    func run() {
        while thread.take(&messages) {
            for message in messages { handle(message) }
            messages.removeAll(keepingCapacity: true)
            admit()
            resumeDue()
            var running: CInt = 0
            _ = curl.multiPerform(multi, &running)
            readResults()
            checkStalls()
            // What ended has made room; those who take it do not wait for the poll to end.
            admit()
            if thread.mayPoll() { _ = curl.multiPoll(multi, nil, 0, pollMilliseconds, nil) }
        }
        end()
    }

    private func end() {
        for transfer in active { finish(transfer, .failure(transfer.error(.cancelled))) }
        for lane in busy {
            while let transfer = lane.waiting.next() {
                transfer.complete(.failure(transfer.error(.cancelled)))
            }
        }
        for case .start(let transfer, let completion) in messages + thread.retire() {
            completion(.failure(transfer.error(.cancelled)))
        }
        spares = []
        _ = curl.multiCleanup(multi)
    }

    // MARK: - Messages

    private func handle(_ message: CurlThread.Message) {
        switch message {
        case .start(let transfer, let completion):
            transfer.completion = completion
            if transfer.phase == .cancelledEarly {
                transfer.complete(.failure(transfer.error(.cancelled)))
            } else {
                enqueue(transfer)
            }
        case .cancel(let transfer):
            switch transfer.phase {
            case .new: transfer.phase = .cancelledEarly
            case .waiting: transfer.complete(.failure(transfer.error(.cancelled)))
            case .active: finish(transfer, .failure(transfer.error(.cancelled)))
            case .done, .cancelledEarly: break
            }
        case .resume(let transfer):
            // What the limit pauses goes on when it is due, whatever its sink says.
            if transfer.phase == .active, transfer.due == nil { resume(transfer) }
        }
    }

    private func resume(_ transfer: CurlTransfer) {
        guard transfer.resume(), let easy = transfer.easy else { return }
        transfer.stall.restart(now: .now, bytes: transfer.progress)
        // This delivers what libcurl holds, so it calls the sink. A failure in there is told to
        // nobody but us.
        let code = curl.easyPause(easy.handle, CURLPAUSE_CONT)
        if code != CURLE_OK { conclude(transfer, code) }
    }

    // MARK: - Queues

    private func enqueue(_ transfer: CurlTransfer) {
        let lane = lane(of: transfer.url)
        transfer.lane = lane
        transfer.phase = .waiting
        if lane.waiting.isEmpty { busy.append(lane) }
        lane.waiting.append(transfer)
    }

    private func lane(of url: HTTPURL) -> CurlLane {
        if let lane = lanes[url.origin] { return lane }
        if lanes.count >= 64 {
            lanes = lanes.filter { $1.activeCount > 0 || !$1.waiting.isEmpty }
        }
        let lane = CurlLane()
        lanes[url.origin] = lane
        return lane
    }

    private func limit(_ lane: CurlLane) -> Int {
        lane.multiplexes
            ? thread.configuration.maxConcurrentTransfers
            : thread.configuration.maxConnectionsPerHost
    }

    /// Hands waiting transfers to libcurl, one a lane in turn, as far as the limits go.
    private func admit() {
        var index = 0
        var refused = 0
        while active.count < thread.configuration.maxConcurrentTransfers, refused < busy.count {
            if index >= busy.count { index = 0 }
            let lane = busy[index]
            guard lane.activeCount < limit(lane) else {
                refused += 1
                index += 1
                continue
            }
            refused = 0
            if let transfer = lane.waiting.next() { activate(transfer, lane) }
            if lane.waiting.isEmpty { busy.remove(at: index) } else { index += 1 }
        }
        // Whoever came last begins next time.
        if index > 0, index < busy.count {
            busy.append(contentsOf: busy[..<index]); busy.removeFirst(index)
        }
    }

    private func activate(_ transfer: CurlTransfer, _ lane: CurlLane) {
        guard let easy = spares.popLast() ?? CurlEasy(curl) else {
            return transfer.complete(.failure(transfer.error(.unavailable, "out of memory")))
        }
        easy.prepare(transfer, on: thread, thread.configuration)
        let code = curl.multiAdd(multi, easy.handle)
        guard code == CURLM_OK else {
            return transfer.complete(.failure(transfer.error(.unavailable, "curl code \(code)")))
        }
        transfer.phase = .active
        transfer.easy = easy
        transfer.slot = active.count
        active.append(transfer)
        lane.activeCount += 1
        let now = ContinuousClock.now
        transfer.stall.restart(now: now, bytes: 0)
        nextCheck = min(nextCheck, now + transfer.stall.interval)
    }

    /// Takes a transfer out of libcurl.
    private func deactivate(_ transfer: CurlTransfer) {
        guard let easy = transfer.easy else { return }
        _ = curl.multiRemove(multi, easy.handle)
        transfer.easy = nil
        easy.clear()
        spares.append(easy)
        transfer.lane?.activeCount -= 1
        let last = active.removeLast()
        if last !== transfer {
            active[transfer.slot] = last
            last.slot = transfer.slot
        }
    }

    // MARK: - Ends

    private func readResults() {
        var left: CInt = 0
        while let message = curl.multiInfoRead(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE else { continue }
            let code = message.pointee.data.result
            var context: UnsafeMutableRawPointer?
            curl_getinfo_pointer(
                curl.easyGetinfo, message.pointee.easy_handle, CURLINFO_PRIVATE, &context)
            guard let context else { continue }
            let call = Unmanaged<CurlEasy.Call>.fromOpaque(context).takeUnretainedValue()
            conclude(call.transfer, code)
        }
    }

    /// Judges how libcurl ended a transfer, and goes on to the next hop or to its caller.
    private func conclude(_ transfer: CurlTransfer, _ code: CURLcode) {
        if let failure = transfer.failure { return finish(transfer, .failure(failure)) }
        if let next = transfer.nextURL {
            deactivate(transfer)
            transfer.follow(next)
            return enqueue(transfer)
        }
        if code == CURLE_OK {
            // An end in the middle of the head is none of libcurl's errors.
            let cut = transfer.error(.cut, "the head did not end")
            return finish(transfer, transfer.head.map { .success($0) } ?? .failure(cut))
        }
        let detail = transfer.easy?.detail(code) ?? ""
        let error = transfer.error(
            CurlCode.meaning(code, detail: detail, hasHead: transfer.head != nil), detail)
        if thread.style == .shared, [.dns, .connect, .certificate].contains(error.code) {
            failCompanions(of: transfer, error)
        }
        finish(transfer, .failure(error))
    }

    /// Fails those who wait for the connection that just failed.
    ///
    /// libcurl would let each of them try by itself, one after the other, up to a quarter of a
    /// minute each.
    private func failCompanions(of transfer: CurlTransfer, _ error: HTTPError) {
        guard transfer.url.isSecure else { return }
        let companions = active.filter {
            $0 !== transfer && $0.lane === transfer.lane && $0.easy?.hasConnection == false
        }
        for companion in companions {
            finish(companion, .failure(companion.error(error.code, error.detail)))
        }
    }

    private func finish(_ transfer: CurlTransfer, _ result: Result<HTTPHead, HTTPError>) {
        deactivate(transfer)
        transfer.complete(result)
    }

    // MARK: - Time

    private func checkStalls() {
        let now = ContinuousClock.now
        guard !active.isEmpty, now >= nextCheck else { return }
        var interval = Duration.seconds(1)
        for transfer in active where !transfer.isPaused {
            interval = min(interval, transfer.stall.interval)
            if transfer.stall.isStalled(now: now, bytes: transfer.progress) {
                finish(transfer, .failure(transfer.error(.stalled)))
            }
        }
        nextCheck = now + interval
    }

    private var isLimited: Bool { thread.configuration.limitRate != nil }

    private func resumeDue() {
        guard isLimited else { return }
        let now = ContinuousClock.now
        for transfer in active {
            if let due = transfer.due, due <= now { resume(transfer) }
        }
    }

    private var pollMilliseconds: CInt {
        guard !active.isEmpty else { return 600_000 }
        var next = nextCheck
        if isLimited { next = active.reduce(next) { min($0, $1.due ?? $0) } }
        let left = (next - .now) / .milliseconds(1)
        return CInt(min(max(left.rounded(.up), 1), 1000))
    }
}
