/// Takes the body of a request piece by piece, as it comes.
///
/// Used by the one connection that the request came on.
protocol BodySink: AnyObject {
    /// Takes the next bytes.
    func take(_ piece: UnsafeRawBufferPointer) throws(BodyEnd)

    /// Answers, when all of the body has come.
    func finish() throws(Refusal) -> Answer

    /// Hears that the rest of the body will not come.
    func abandon()
}

/// Why a body is not taken any further.
enum BodyEnd: Error {
    /// The answer is known.
    case refused(Refusal)
    /// Nobody waits for an answer: the connection ends.
    case closed
}

/// What becomes of a body that is about to come.
enum Reception {
    case sink(any BodySink)
    /// The answer is known before it.
    case answer(Answer)
}
