// Columns that line up.

/** `right`: the columns of numbers. `paint` is given a cell with its padding: colours take no room. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly number[] = [],
  paint: (row: number, column: number, text: string) => string = (_, __, text) => text,
): string[] {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const cell = (text: string, column: number) => {
    const width = widths[column] ?? 0;
    if (right.includes(column)) return text.padStart(width);
    return column === head.length - 1 ? text : text.padEnd(width);
  };
  return [
    head.map(cell).join('  '),
    ...rows.map((row, index) => row.map((text, column) => paint(index, column, cell(text, column))).join('  ')),
  ];
}
