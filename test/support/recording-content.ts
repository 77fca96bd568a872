// The bytes of a file as pages that copies share: ten thousand crash states of one disk differ in a few pages only.
//
// C1. A page is written in place only by the content that owns it; to all others it never changes.
// C2. Bytes of the last page beyond the size are zero.

import { createHash } from 'node:crypto';

export const PAGE_BYTES = 4096;

/** Whoever holds the same token may change a content in place; everyone else gets a copy first. */
export type Owner = object;

/** Contents may share one; see C1. */
export interface Page {
  bytes: Buffer;
  owner: Owner;
  hash: string | undefined;
}

const NOBODY: Owner = {};
const ZERO_PAGE: Page = { bytes: Buffer.alloc(PAGE_BYTES), owner: NOBODY, hash: undefined };

export class Content {
  static readonly empty = new Content(NOBODY, [], 0);
  readonly #owner: Owner;
  readonly #pages: Page[];
  #size: number;
  #hash: string | undefined;

  private constructor(owner: Owner, pages: Page[], size: number) {
    this.#owner = owner;
    this.#pages = pages;
    this.#size = size;
  }

  static of(bytes: Uint8Array): Content {
    const content = Content.empty.ownedBy({});
    content.write(bytes, 0);
    return content;
  }

  get size(): number {
    return this.#size;
  }

  /** This content if `owner` may change it in place, else a copy that shares every page. */
  ownedBy(owner: Owner): Content {
    return owner === this.#owner ? this : new Content(owner, this.#pages.slice(), this.#size);
  }

  read(into: Uint8Array, offset: number, length: number, position: number): number {
    const end = Math.min(position + length, this.#size);
    for (const { index, from, to, at } of pagesOf(position, end)) {
      const { bytes } = this.#pages[index] ?? ZERO_PAGE;
      into.set(bytes.subarray(from, to), offset + at);
    }
    return Math.max(0, end - position);
  }

  write(bytes: Uint8Array, position: number): void {
    if (bytes.length === 0) return;
    const end = position + bytes.length;
    this.extend(end);
    this.#hash = undefined;
    for (const { index, from, to, at } of pagesOf(position, end)) {
      this.#page(index).set(bytes.subarray(at, at + to - from), from);
    }
  }

  /** Puts a whole page in place without copying it. */
  writePage(page: Page, index: number): void {
    this.extend((index + 1) * PAGE_BYTES);
    this.#pages[index] = page;
    this.#hash = undefined;
  }

  writeZeros(position: number, length: number): void {
    if (length === 0) return;
    const end = position + length;
    this.extend(end);
    this.#hash = undefined;
    for (const { index, from, to } of pagesOf(position, end)) this.#clear(index, from, to);
  }

  /** The size is at least `size`; what is new reads as zero. */
  extend(size: number): void {
    if (size <= this.#size) return;
    const count = Math.ceil(size / PAGE_BYTES);
    while (this.#pages.length < count) this.#pages.push(ZERO_PAGE);
    this.#size = size;
    this.#hash = undefined;
  }

  resize(size: number): void {
    this.extend(size);
    if (size === this.#size) return;
    this.#pages.length = Math.ceil(size / PAGE_BYTES);
    const used = size % PAGE_BYTES;
    if (used > 0) this.#clear(this.#pages.length - 1, used, PAGE_BYTES);
    this.#size = size;
    this.#hash = undefined;
  }

  toBuffer(): Buffer {
    const whole = Buffer.allocUnsafe(this.#size);
    this.read(whole, 0, this.#size, 0);
    return whole;
  }

  hash(): string {
    if (this.#hash === undefined) {
      let text = `${this.#size}`;
      for (const page of this.#pages) text += hashOf(page);
      this.#hash = digest(text);
    }
    return this.#hash;
  }

  #clear(index: number, from: number, to: number): void {
    if (this.#pages[index] === ZERO_PAGE) return;
    if (from === 0 && to === PAGE_BYTES) this.#pages[index] = ZERO_PAGE;
    else this.#page(index).fill(0, from, to);
  }

  /** The bytes of a page, to be written in place. */
  #page(index: number): Buffer {
    let page = this.#pages[index] ?? ZERO_PAGE;
    if (page.owner !== this.#owner) {
      page = { bytes: Buffer.from(page.bytes), owner: this.#owner, hash: undefined };
      this.#pages[index] = page;
    }
    page.hash = undefined;
    return page.bytes;
  }
}

interface PageRange {
  index: number;
  /** Within the page. */
  from: number;
  to: number;
  /** How far into the whole range this page's part begins. */
  at: number;
}

function* pagesOf(start: number, end: number): Generator<PageRange> {
  for (let position = start; position < end; ) {
    const index = Math.floor(position / PAGE_BYTES);
    const from = position - index * PAGE_BYTES;
    const to = Math.min(PAGE_BYTES, end - index * PAGE_BYTES);
    yield { index, from, to, at: position - start };
    position += to - from;
  }
}

/** A page for `writePage`, which no content will write in place. */
export function sharedPage(bytes: Uint8Array): Page {
  return { bytes: Buffer.from(bytes), owner: NOBODY, hash: undefined };
}

function hashOf(page: Page): string {
  page.hash ??= digest(page.bytes);
  return page.hash;
}

export function digest(data: string | Uint8Array): string {
  return createHash('sha1').update(data).digest('base64');
}
