// What every store keeps, on whatever ground it stands. Each group takes the way to a fresh place.

import { describe } from 'vitest';
import { changes } from './changes.js';
import { files } from './files.js';
import { lives } from './lives.js';
import type { Place } from './place.js';
import { saving } from './saving.js';

export function contract(name: string, place: () => Place): void {
  describe(`the contract, ${name}`, () => {
    changes(place);
    saving(place);
    files(place);
    lives(place);
  });
}
