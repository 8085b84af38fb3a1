/// What is seen of an account's catalog at its two places, and what follows from it; pure.
///
/// The old place is the user's own data home, the new one the container that several programs
/// share. Rows decide, not files: a catalog with only a schema makes way for one with rows, and two
/// with rows are left alone until a person decides.
struct CatalogLocation: Sendable, Hashable {
    /// The folder that several programs share.
    enum Container: Sendable, Hashable {
        case notNamed
        /// It is named, and there is no such folder.
        case missing
        case there
    }

    /// What a place has under the catalog's name.
    enum Content: Sendable, Hashable {
        case nothing
        /// A schema, and no row that came from anywhere.
        case empty
        /// Rows; or something that cannot be read, which may be rows.
        case rows
    }

    /// What is to be done before the catalog is opened.
    enum Action: Sendable, Hashable {
        /// Open it at the old place.
        case useOld(Flag?)
        /// Open it at the new place, or make it there.
        case useNew
        /// Take what is at the new place out of the way, and move the catalog there.
        case move
        /// Remove the empty catalog of the old place.
        case dropOld
        /// Bring the rest after the catalog, the log of a crash before all.
        case finish
    }

    /// What a person should know about the places; a word of `status`.
    enum Flag: String, Sendable, Hashable {
        /// A container is named whose folder is not there.
        case containerMissing
        /// Both places have rows: a person decides, with `adopt`.
        case twoPlaces
        /// The catalog could not be moved to the container.
        case moveFailed
        /// The catalog has moved, and something of it could not follow yet: it is only read.
        case moveUnfinished
    }

    var container = Container.notNamed
    var old = Content.nothing
    /// Whether the old place has anything beside a catalog: a log, other files of the account.
    var oldHasRest = false
    var new = Content.nothing
    /// Whether the mark of a move is there: what the new place has is not in use yet.
    var isMoving = false

    /// The next thing to be done; after anything but `useOld` and `useNew` one looks again.
    var action: Action {
        switch container {
        case .notNamed: return .useOld(nil)
        case .missing: return .useOld(.containerMissing)
        case .there: break
        }
        switch (old, new) {
        // The rename is the moment: a copy at the new place beside it is not finished.
        case (.empty, _) where isMoving, (.rows, _) where isMoving: return .move
        case (.nothing, _): return oldHasRest || isMoving ? .finish : .useNew
        case (_, .nothing), (.rows, .empty): return .move
        case (.empty, _): return .dropOld
        case (.rows, .rows): return .useOld(.twoPlaces)
        }
    }
}
