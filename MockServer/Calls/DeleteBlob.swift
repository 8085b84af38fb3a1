extension Call {
    /// `DELETE /v1/blobs/{recordName}`: 204, also when it was gone.
    func deleteBlob() throws(Refusal) -> Answer {
        try account().delete(try recordName())
        return Answer(204)
    }
}
