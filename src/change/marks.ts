// Which paths of one document hold something new. The newest value wins: marks say where, the value is read when a
// frame is encoded, so what was replaced in between is never written.
//
// I1. Applying the ops of these marks to the last committed state gives the present state, key order included.
// I2. A marked path has no marks below it: its whole value will be written.
// I3. Array positions are stored as `index + head`, the index the item had before items left from the front, so that
//     taking from a queue renumbers nothing.
// I4. Positions from `tail` on are rewritten as one run; no other mark lives there.

export type Key = string | number;

/** A string that only grew: `text` was added behind its first `from` UTF-16 units. */
export interface Growth {
  from: number;
  text: string;
}

/** Shared by all marks that have nothing to put there. Typed as read-only: each `Marks` gets its own when it writes. */
const NO_KEYS: ReadonlySet<never> = new Set();
const NOTHING: ReadonlyMap<never, never> = new Map<never, never>();

export class Marks {
  /** The value itself is new, as a whole. Everything else below is then empty. */
  whole = false;
  /** Items that left from the front of an array. */
  head = 0;
  /** Stored position from which an array is rewritten; Infinity when no run is. */
  tail = Number.POSITIVE_INFINITY;
  /** Object keys that left. One that came back is in `puts` too: dropped, then put, so it moves to the end. */
  drops: ReadonlySet<string> = NO_KEYS;
  /** Keys with a new value, in the order in which new keys appeared. Stored positions for arrays. */
  puts: ReadonlySet<Key> = NO_KEYS;
  growths: ReadonlyMap<Key, Growth> = NOTHING;
  kids: ReadonlyMap<Key, Marks> = NOTHING;

  constructor(readonly isArray: boolean) {}

  get isEmpty(): boolean {
    return (
      !this.whole &&
      this.head === 0 &&
      this.tail === Number.POSITIVE_INFINITY &&
      this.drops.size === 0 &&
      this.puts.size === 0 &&
      this.growths.size === 0 &&
      this.#kidsAreEmpty()
    );
  }

  /** The present index behind a stored position, or the key itself. */
  keyOf(stored: Key): Key {
    return typeof stored === 'number' ? stored - this.head : stored;
  }

  /** The present index from which an array is rewritten. */
  get tailIndex(): number {
    return this.tail - this.head;
  }

  /** True when whatever is at `key` will be written whole. */
  covers(key: Key): boolean {
    const stored = this.#stored(key);
    return this.whole || this.puts.has(stored) || (this.isArray && (stored as number) >= this.tail);
  }

  /** The marks of the container at `key`, or null when they are not needed because the container is written whole. */
  kid(key: Key, isArray: boolean): Marks | null {
    if (this.covers(key)) return null;
    const stored = this.#stored(key);
    let kid = this.kids.get(stored);
    if (kid === undefined) {
      kid = new Marks(isArray);
      this.#addKid(stored, kid);
    }
    return kid;
  }

  put(key: Key): void {
    if (this.covers(key)) return;
    const stored = this.#stored(key);
    this.#forget(stored);
    this.#addPut(stored);
  }

  drop(key: string): void {
    if (this.whole) return;
    this.#forget(key);
    // A later put must come behind keys that are already there: forget the old place in the order.
    if (this.puts.has(key)) (this.puts as Set<Key>).delete(key);
    if (this.drops === NO_KEYS) this.drops = new Set();
    (this.drops as Set<string>).add(key);
  }

  grow(key: Key, from: number, text: string): void {
    if (this.covers(key)) return;
    const stored = this.#stored(key);
    this.#addGrowth(stored, from, text);
  }

  /** The array is rewritten from this index on. */
  cut(index: number): void {
    if (this.whole) return;
    const stored = index + this.head;
    if (stored >= this.tail) return;
    this.tail = stored;
    this.#prune();
  }

  /** `count` items left from the front of the array. */
  shift(count: number): void {
    if (this.whole || this.tail <= this.head) return;
    this.head += count;
    this.#prune();
  }

  replace(): void {
    this.#clear();
    this.whole = true;
  }

  /** Takes over the marks of changes made after these. */
  absorb(newer: Marks): void {
    if (this.whole) return;
    if (newer.whole) {
      this.replace();
      return;
    }
    if (this.isArray) this.#absorbArray(newer);
    else this.#absorbObject(newer);
  }

  #absorbObject(newer: Marks): void {
    for (const key of newer.drops) this.drop(key);
    for (const key of newer.puts) this.put(key);
    this.#absorbBelow(newer, 0);
  }

  #absorbArray(newer: Marks): void {
    // What was index i before the newer changes is stored here as i + head.
    const offset = this.head;
    for (const stored of newer.puts) {
      const here = (stored as number) + offset;
      if (here >= this.tail || this.puts.has(here)) continue;
      this.#forget(here);
      this.#addPut(here);
    }
    this.#absorbBelow(newer, offset);
    if (newer.head === 0 && newer.tail === Number.POSITIVE_INFINITY) return;
    if (this.tail <= this.head) return;
    this.head += newer.head;
    this.tail = Math.min(this.tail, newer.tail + offset);
    this.#prune();
  }

  #absorbBelow(newer: Marks, offset: number): void {
    for (const [stored, growth] of newer.growths) {
      const here = typeof stored === 'number' ? stored + offset : stored;
      if (this.#isCovered(here)) continue;
      this.#addGrowth(here, growth.from, growth.text);
    }
    for (const [stored, kid] of newer.kids) {
      const here = typeof stored === 'number' ? stored + offset : stored;
      if (this.#isCovered(here)) continue;
      const known = this.kids.get(here);
      if (known === undefined) this.#addKid(here, kid);
      else known.absorb(kid);
    }
  }

  #isCovered(stored: Key): boolean {
    return this.puts.has(stored) || (this.isArray && (stored as number) >= this.tail);
  }

  #stored(key: Key): Key {
    return this.isArray ? (key as number) + this.head : key;
  }

  #addPut(stored: Key): void {
    if (this.puts === NO_KEYS) this.puts = new Set();
    (this.puts as Set<Key>).add(stored);
  }

  #addGrowth(stored: Key, from: number, text: string): void {
    if (this.growths === NOTHING) this.growths = new Map();
    const known = this.growths.get(stored);
    if (known === undefined) (this.growths as Map<Key, Growth>).set(stored, { from, text });
    else known.text += text;
  }

  #addKid(stored: Key, kid: Marks): void {
    if (this.kids === NOTHING) this.kids = new Map();
    (this.kids as Map<Key, Marks>).set(stored, kid);
  }

  #forget(stored: Key): void {
    if (this.growths.has(stored)) (this.growths as Map<Key, Growth>).delete(stored);
    if (this.kids.has(stored)) (this.kids as Map<Key, Marks>).delete(stored);
  }

  #kidsAreEmpty(): boolean {
    for (const kid of this.kids.values()) if (!kid.isEmpty) return false;
    return true;
  }

  #prune(): void {
    // Nothing of what was committed is left: one run from 0 says it all, and a head op would count items twice.
    if (this.head >= this.tail) {
      this.#clear();
      this.tail = 0;
      return;
    }
    this.#pruneKeys(this.puts as Set<Key>);
    this.#pruneKeys(this.growths as Map<Key, Growth>);
    this.#pruneKeys(this.kids as Map<Key, Marks>);
  }

  #pruneKeys(held: Set<Key> | Map<Key, unknown>): void {
    if (held.size === 0) return;
    for (const stored of held.keys()) {
      if ((stored as number) < this.head || (stored as number) >= this.tail) held.delete(stored);
    }
  }

  #clear(): void {
    this.head = 0;
    this.tail = Number.POSITIVE_INFINITY;
    this.drops = NO_KEYS;
    this.puts = NO_KEYS;
    this.growths = NOTHING;
    this.kids = NOTHING;
  }
}

/** Every marked place, as keys and indices from the root. */
export function changedPaths(marks: Marks, above: readonly Key[] = []): Key[][] {
  if (marks.whole) return [[...above]];
  const paths: Key[][] = [];
  for (const key of marks.drops) if (!marks.puts.has(key)) paths.push([...above, key]);
  for (const stored of [...marks.puts, ...marks.growths.keys()]) paths.push([...above, marks.keyOf(stored)]);
  for (const [stored, kid] of marks.kids) paths.push(...changedPaths(kid, [...above, marks.keyOf(stored)]));
  // An array whose items moved changed as a whole, as far as anybody who watches it can tell.
  if (marks.head > 0) paths.push([...above]);
  else if (marks.tail !== Number.POSITIVE_INFINITY) paths.push([...above, marks.tailIndex]);
  return paths;
}
