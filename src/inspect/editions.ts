// What was published last, of a store of which nothing else is known yet.

import { readingDisk } from '../disk/reading-disk.js';
import type { Places } from '../journal/places.js';
import { survey } from '../journal/survey.js';
import { type Edition, readRecord } from '../projection/record.js';

export function editionsOf(places: Places): ReadonlyMap<string, Edition> {
  const storeId = survey(readingDisk, places).find(({ header }) => header !== null)?.header?.storeId;
  return storeId === undefined ? new Map() : readRecord(readingDisk, places, storeId).editions;
}
