/// The words that keep uses of a key apart; each ends with a zero byte.
enum Label {
    static let kekID = Array("cloudblob/v1/kek-id\0".utf8)
    static let passWrap = Array("cloudblob/v1/pass-wrap\0".utf8)
    static let keyRecord = Array("cloudblob/v1/kwr\0".utf8)
    static let auth = Array("cloudblob/v1/auth\0".utf8)
    static let payload = Array("cloudblob/v1/payload\0".utf8)
    static let wrap = Array("cloudblob/v1/wrap\0".utf8)
    static let entry = Array("cloudblob/v1/entry\0".utf8)
    static let leaf = Array("cloudblob/v1/leaf\0".utf8)
    static let head = Array("cloudblob/v1/head\0".utf8)
}
