@testable import LazySync

/// What people did, and what therefore must be shown in the end.
///
/// A *word* is something that was typed or added once and that nobody could have made otherwise: a
/// title, a text, or an attached file (by its attachment's id). It counts from the moment at which
/// the device that it was typed on kept it.
///
/// A word is *taken away* on a device when a person there changes or removes an item that shows it,
/// or an attachment, so that this item shows it no more: then that person has seen it. Who brings
/// something back out of the trash takes back what was taken away on the same device.
///
/// In the end every word that is taken away on no device is shown, in an item or in a conflict copy.
/// That is all that is asked: a word which one person took away may be shown or not, since somebody
/// else may have kept it.
struct Words {
    /// One thing that was typed or added.
    enum Word: Hashable, CustomStringConvertible {
        case text(String)
        case file(AttachmentID)

        var description: String {
            switch self {
            case .text(let text): "'\(text)'"
            case .file(let id): "file \(id)"
            }
        }
    }

    private var taken: [Word: Set<Int>] = [:]
    private var everTaken: Set<Word> = []

    /// The words that an item shows; the mark of a copy is not anybody's word.
    static func shown(_ item: ItemFacts?) -> Set<Word> {
        guard let item else { return [] }
        let title = item.title.replacing(" \(ItemDraft.copyMark)", with: "")
        return Set(
            [.text(title)] + (item.text.map { [.text($0)] } ?? []) + item.files.map { .file($0.id) }
        )
    }

    /// A person on a device changed an item, or made or removed one.
    mutating func changed(_ before: ItemFacts?, to after: ItemFacts?, on device: Int) {
        let (old, new) = (Self.shown(before), Self.shown(after))
        for word in old.subtracting(new) {
            taken[word, default: []].insert(device)
            everTaken.insert(word)
        }
        for word in new.subtracting(old) where taken[word] == nil { taken[word] = [] }
    }

    /// A person on a device brought something back.
    mutating func broughtBack(_ before: ItemFacts?, to after: ItemFacts?, on device: Int) {
        for word in Self.shown(after).subtracting(Self.shown(before)) {
            taken[word]?.remove(device)
        }
    }

    /// What must be shown.
    var due: Set<Word> { Set(taken.filter { $0.value.isEmpty }.keys) }

    /// Whether somebody has taken it away at some time, be it that it came back.
    func wasTaken(_ word: Word) -> Bool { everTaken.contains(word) }

    /// Whether somebody took it away.
    func isTaken(_ word: Word) -> Bool { taken[word]?.isEmpty == false }

    /// Whether somebody typed or added it.
    func isKnown(_ word: Word) -> Bool { taken[word] != nil }
}

/// An item as a person sees it.
struct ItemFacts: Equatable {
    struct File: Equatable {
        let id: AttachmentID
        let name: String
        let size: Int64
    }

    var title: String
    var text: String?
    var files: [File]

    init(_ item: Item) {
        title = item.title
        text = item.text
        files = item.attachments.map { File(id: $0.key.id, name: $0.name, size: $0.size) }
    }
}
