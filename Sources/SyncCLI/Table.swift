/// Rows of cells as lines.
///
/// Without a width (standard output is no terminal) the cells of a line are whole and stand between
/// tabs. With one they are aligned, and what does not fit is cut.
struct Table: Sendable {
    enum Alignment: Sendable { case left, right }

    struct Column: Sendable {
        var alignment = Alignment.left
        /// Whether the column may be cut when a line is too long.
        var isFlexible = false
    }

    let columns: [Column]
    /// As many cells a row as there are columns, each on one line.
    let rows: [[String]]

    private static let gap = "  "
    /// A flexible column is not cut below this, as long as the terminal is wide enough at all.
    private static let least = 8

    /// The table's lines, at most `width` columns wide; nil for a reader that is a program.
    func lines(width: Int?) -> [String] {
        guard let width else { return rows.map { $0.joined(separator: "\t") } }
        let widths = widths(within: width)
        return rows.map { row in
            let cells = row.indices.map { index in
                // Blanks at the end of a line would only make it wrap.
                let filled = index == row.count - 1 ? 0 : widths[index]
                return row[index].cut(to: widths[index])
                    .padded(to: filled, alignment: columns[index].alignment)
            }
            return cells.joined(separator: Table.gap).cut(to: width)
        }
    }

    /// The columns' widths: as wide as the cells, and the widest flexible ones give way until it
    /// fits.
    private func widths(within width: Int) -> [Int] {
        var widths = columns.indices.map { index in rows.map { $0[index].width }.max() ?? 0 }
        let flexible = columns.indices.filter { columns[$0].isFlexible }
        var excess = widths.reduce(Table.gap.count * (columns.count - 1), +) - width
        while excess > 0, let widest = flexible.max(by: { widths[$0] < widths[$1] }),
            widths[widest] > Table.least
        {
            widths[widest] -= 1
            excess -= 1
        }
        return widths
    }
}
