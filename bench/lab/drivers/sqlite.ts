import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Driver, Promised } from '../contract.js';
import type { LabState } from '../state.js';

type Journal = 'WAL' | 'DELETE';
type Synchronous = 'OFF' | 'NORMAL' | 'FULL' | 'EXTRA';

function sqlite(journal: Journal, synchronous: Synchronous, promised: Promised): Driver {
  return {
    id: `sqlite-${journal.toLowerCase()}-${synchronous.toLowerCase()}`,
    name: `better-sqlite3 ${journal} ${synchronous}`,
    package: 'better-sqlite3',
    promised,
    how: `one row per item in a transaction; journal_mode=${journal}, synchronous=${synchronous}`,
    async open(directory) {
      const { default: Database } = await import('better-sqlite3');
      mkdirSync(directory, { recursive: true });
      const db = new Database(join(directory, 'state.db'));
      db.pragma(`journal_mode=${journal}`);
      db.pragma(`synchronous=${synchronous}`);
      db.exec('CREATE TABLE IF NOT EXISTS head (id INTEGER PRIMARY KEY, n INTEGER, title TEXT)');
      db.exec('CREATE TABLE IF NOT EXISTS items (id INTEGER PRIMARY KEY, text TEXT)');
      const putHead = db.prepare('INSERT OR REPLACE INTO head VALUES (1, ?, ?)');
      const putItem = db.prepare(
        'INSERT INTO items VALUES (?, ?) ON CONFLICT DO UPDATE SET text = excluded.text WHERE text <> excluded.text',
      );
      const cut = db.prepare('DELETE FROM items WHERE id >= ?');
      const save = db.transaction(({ n, title, items }: LabState) => {
        putHead.run(n, title);
        for (const { id, text } of items) putItem.run(id, text);
        cut.run(items.length);
      });
      return {
        load: async () => {
          const check = db.pragma('integrity_check', { simple: true });
          if (check !== 'ok') throw new Error(`integrity_check: ${String(check)}`);
          const head = db.prepare('SELECT n, title FROM head').get() as { n: number; title: string } | undefined;
          if (head === undefined) return null;
          const items = db.prepare('SELECT id, text FROM items ORDER BY id').all() as LabState['items'];
          return { n: head.n, title: head.title, items };
        },
        save: async (state) => save(state),
        saveSoon: (state) => save(state),
        close: async () => void db.close(),
      };
    },
  };
}

export const walFull = sqlite('WAL', 'FULL', 'durable');
export const walNormal = sqlite('WAL', 'NORMAL', 'atomic');
export const deleteExtra = sqlite('DELETE', 'EXTRA', 'durable');

/** Only to see whether the lab tells right from wrong: what these lose is documented. */
export const deleteFull = sqlite('DELETE', 'FULL', 'durable');
export const deleteOff = sqlite('DELETE', 'OFF', 'neither');
