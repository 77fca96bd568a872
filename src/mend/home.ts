// The store that a person points at. Never makes one: a mistyped path must not become an empty store.

import { placesOf } from '../inspect/home.js';
import { onlyFileOf } from '../journal/places.js';

/** The home of the store at `path` (see Places). HF_MISSING when there is none. */
export function homeOf(path: string): string {
  return placesOf(path).directory;
}

/** As a person would write it on a command line. */
export function pathOf(home: string): string {
  return onlyFileOf(home) ?? home;
}
