// swift-tools-version: 6.2
import PackageDescription

/// Settings of every Swift target: warnings are errors, and what Swift 7 will ask for is asked for now.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// C and raw memory live in SyncPlatform; above it, touching either is a compile error.
let safe = strict + [.strictMemorySafety()]

let package = Package(
    name: "LazySync",
    products: [
        .library(name: "LazySync", targets: ["LazySync"]),
        .executable(name: "sync", targets: ["SyncCLI"]),
        .executable(name: "mock-server", targets: ["MockServer"]),
    ],
    targets: [
        .systemLibrary(
            name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(
            name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
        .systemLibrary(
            name: "CMicroHTTPD", pkgConfig: "libmicrohttpd",
            providers: [.apt(["libmicrohttpd-dev"])]),
        // Headers only: these libraries are loaded on first use, so that a command that needs none of
        // them starts without them and their forty dependencies.
        .systemLibrary(name: "CCurl"),
        .systemLibrary(name: "COpenSSL"),
        .systemLibrary(name: "CSecret"),
        .systemLibrary(name: "CVips"),
        // simdjson is C++; this target is its C face.
        .target(name: "CSimdJSON", linkerSettings: [.linkedLibrary("simdjson")]),

        .target(
            name: "SyncPlatform",
            dependencies: [
                "CSQLite", "CSodium", "COpenSSL", "CCurl", "CSecret", "CSimdJSON", "CVips",
            ],
            swiftSettings: strict),
        .target(name: "LazySync", dependencies: ["SyncPlatform"], swiftSettings: safe),
        .executableTarget(
            name: "SyncCLI", dependencies: ["LazySync", "SyncPlatform"], swiftSettings: safe),
        .executableTarget(
            name: "MockServer", dependencies: ["CMicroHTTPD", "CSodium"], path: "MockServer",
            swiftSettings: strict),

        .target(
            name: "TestSupport",
            dependencies: ["LazySync", "SyncPlatform", "MockServer"],
            path: "Tests/Support", swiftSettings: strict),
        .testTarget(
            name: "SyncPlatformTests", dependencies: ["SyncPlatform", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "LazySyncTests",
            dependencies: ["LazySync", "SyncPlatform", "MockServer", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "SimulationTests",
            dependencies: ["LazySync", "SyncPlatform", "MockServer", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "SyncCLITests",
            dependencies: ["SyncCLI", "LazySync", "MockServer", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "MockServerTests", dependencies: ["MockServer", "TestSupport"],
            swiftSettings: strict),
    ],
    cxxLanguageStandard: .cxx17
)
