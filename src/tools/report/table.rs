//! Aligned columns for the terminal.

use crate::report::words::printable;
use anstyle::Style;

/// Rows of as many cells as there are columns.
pub struct Table {
    columns: usize,
    right: Vec<usize>,
    rows: Vec<(Style, Vec<String>)>,
}

/// Between two columns.
const GAP: &str = "  ";

impl Table {
    /// An empty table.
    pub fn new(columns: usize) -> Table {
        Table { columns, right: Vec::new(), rows: Vec::new() }
    }

    /// Aligns a column to the right.
    pub fn right(mut self, column: usize) -> Table {
        self.right.push(column);
        self
    }

    /// Adds a row; cells beyond the columns are left out, missing ones are empty.
    pub fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.styled(Style::new(), cells);
    }

    /// Adds a row whose first cell has a style.
    pub fn styled<T: Into<String>>(&mut self, style: Style, cells: impl IntoIterator<Item = T>) {
        let cells = cells.into_iter().take(self.columns);
        let mut row: Vec<String> = cells.map(|cell| printable(&cell.into())).collect();
        row.resize(self.columns, String::new());
        self.rows.push((style, row));
    }

    /// True where there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The lines, each indented by `indent`, without blanks at their ends.
    pub fn render(&self, indent: &str) -> String {
        let shown = |cell: &str| cell.chars().count();
        let width = |column: usize| self.rows.iter().map(|(_, row)| shown(&row[column])).max();
        let widths: Vec<usize> =
            (0..self.columns).map(|column| width(column).unwrap_or(0)).collect();
        let mut out = String::new();
        for (style, row) in &self.rows {
            let mut line = indent.to_string();
            for (column, cell) in row.iter().enumerate() {
                let pad = " ".repeat(widths[column] - shown(cell));
                let cell = match column {
                    0 => format!("{style}{cell}{style:#}"),
                    _ => format!("{GAP}{cell}"),
                };
                match self.right.contains(&column) {
                    true => line.extend([pad, cell]),
                    false => line.extend([cell, pad]),
                }
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anstyle::AnsiColor;

    #[test]
    fn columns_line_up_and_colours_take_no_room() {
        let mut table = Table::new(3).right(1);
        table.row(["a", "1", "x"]);
        table.styled(AnsiColor::Green.on_default(), ["longer", "1,000", ""]);
        table.row(["b"]);
        assert_eq!(table.render("  "), "  a           1  x\n  \x1b[32mlonger\x1b[0m  1,000\n  b\n");
    }
}
