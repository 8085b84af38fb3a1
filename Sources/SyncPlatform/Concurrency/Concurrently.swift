extension Collection where Element: Sendable {
    /// Does something with each element, so many at once; answers the results in the order in which
    /// they came.
    ///
    /// - Throws: What the first that fails throws; the others are cancelled.
    package func concurrently<Result: Sendable>(
        _ width: Int, _ body: @escaping @Sendable (Element) async throws -> Result
    ) async throws -> [Result] {
        try await withThrowingTaskGroup(of: Result.self) { group in
            var rest = makeIterator()
            var results: [Result] = []
            results.reserveCapacity(count)
            for _ in 0..<width {
                guard let element = rest.next() else { break }
                group.addTask { try await body(element) }
            }
            while let result = try await group.next() {
                results.append(result)
                if let element = rest.next() { group.addTask { try await body(element) } }
            }
            return results
        }
    }
}
