// What somebody meant who mistyped a word: the nearest one there is, if it is near enough to be it.

const EDITS_MAX = 2;

/** ` Did you mean …?`, or nothing. `lead`: what words of this kind begin with. */
export function suggestion(word: string, known: readonly string[], lead = ''): string {
  const whole = known.filter((one) => word.length > 1 && one.startsWith(word));
  const [found] = whole.length > 0 ? whole : nearest(word, known);
  return found === undefined ? '' : ` Did you mean ${lead}${found}?`;
}

/** A word of which everything was replaced is another word. */
function nearest(word: string, known: readonly string[]): string[] {
  const near = known
    .map((one) => ({ one, edits: editsBetween(word, one) }))
    .filter(({ one, edits }) => edits <= Math.min(EDITS_MAX, one.length / 2));
  return near.sort((a, b) => a.edits - b.edits).map(({ one }) => one);
}

/** Letters put in, left out, replaced, or swapped with the next one. */
function editsBetween(a: string, b: string): number {
  let last: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      let edits = Math.min(at(row, j) + 1, at(next, j - 1) + 1, at(row, j - 1) + (isSame ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        edits = Math.min(edits, at(last, j - 2) + 1);
      next.push(edits);
    }
    [last, row] = [row, next];
  }
  return at(row, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] as number;
}
