// A terminal's screen, as tmux captures it with its colours, as an SVG that looks the same everywhere: text is placed run by
// run on the grid, and what is made of blocks and lines is drawn, because fonts disagree about those.

const CELL = { width: 8.4, height: 18, baseline: 13.5 } as const;
const PADDING = 16;
const COLOURS: Record<number, string> = { 31: '#ff7b72', 32: '#7ee787', 33: '#e3b341', 36: '#79c0ff' };
const PAPER = '#0d1117';
const INK = '#e6edf3';
const DIM_OPACITY = 0.55;
const EIGHTHS = '▁▂▃▄▅▆▇█';

interface Style {
  colour: string;
  isBold: boolean;
  isDim: boolean;
}

interface Run {
  column: number;
  text: string;
  style: Style;
}

const PLAIN: Style = { colour: INK, isBold: false, isDim: false };

export function svgOf(screen: string, columns: number, title: string): string {
  const lines = screen.replace(/\n+$/, '').split('\n');
  const width = columns * CELL.width + 2 * PADDING;
  const height = lines.length * CELL.height + 2 * PADDING;
  const body = lines.flatMap((line, row) => runsOf(line).map((run) => draw(run, row)));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="100%" height="100%" rx="8" fill="${PAPER}"/>`,
    `<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="14" xml:space="preserve">`,
    ...body,
    '</g>',
    '</svg>',
    '',
  ].join('\n');
}

/** Parts of one line that look alike. Bars and letters are never in one run. */
function runsOf(line: string): Run[] {
  const runs: Run[] = [];
  let style = PLAIN;
  let column = 0;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a colour begins with one
  for (const [, codes, text] of line.matchAll(/\u001b\[([\d;]*)m|([^\u001b]+)/g)) {
    if (text === undefined) {
      style = (codes ?? '').split(';').map(Number).reduce(styledBy, style);
      continue;
    }
    for (const part of text.match(/[▁▂▃▄▅▆▇█]+|[━─]+| {2,}|(?:(?! {2})[^▁▂▃▄▅▆▇█━─])+/g) ?? []) {
      if (part.trim() !== '') runs.push({ column, text: part, style });
      column += [...part].length;
    }
  }
  return runs;
}

function styledBy(style: Style, code: number): Style {
  if (code === 0) return PLAIN;
  if (code === 1) return { ...style, isBold: true };
  if (code === 2) return { ...style, isDim: true };
  if (code === 22) return { ...style, isBold: false, isDim: false };
  if (code === 39) return { ...style, colour: INK };
  return { ...style, colour: COLOURS[code] ?? style.colour };
}

function draw({ column, text, style }: Run, row: number): string {
  const x = PADDING + column * CELL.width;
  const y = PADDING + row * CELL.height;
  const look = `fill="${style.colour}"${style.isDim ? ` opacity="${DIM_OPACITY}"` : ''}`;
  const first = text[0] as string;
  if (first === '━' || first === '─') {
    const thick = first === '━' ? 4 : 2;
    return `<rect x="${num(x)}" y="${num(y + (CELL.height - thick) / 2)}" width="${num(text.length * CELL.width)}" height="${thick}" ${look}/>`;
  }
  if (EIGHTHS.includes(first))
    return `<path d="${[...text].map((cell, at) => column8(cell, x + at * CELL.width, y)).join('')}" ${look}/>`;
  const bold = style.isBold ? ' font-weight="bold"' : '';
  const fit = ` textLength="${num([...text.trimEnd()].length * CELL.width)}"`;
  return `<text x="${num(x)}" y="${num(y + CELL.baseline)}"${bold}${fit} ${look}>${escaped(text.trimEnd())}</text>`;
}

function column8(cell: string, x: number, y: number): string {
  const height = ((EIGHTHS.indexOf(cell) + 1) / EIGHTHS.length) * (CELL.height - 3);
  return `M${num(x)} ${num(y + CELL.height - 1)}v${num(-height)}h${num(CELL.width - 1)}v${num(height)}z`;
}

function num(value: number): string {
  return String(Number(value.toFixed(2)));
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
