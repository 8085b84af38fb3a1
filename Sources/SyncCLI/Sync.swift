@main
enum Sync {
    static func main() {}
}
