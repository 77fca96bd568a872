import { join } from 'node:path';
import type BetterSqlite3 from 'better-sqlite3';
import type { Awaited, Driver } from './contract.js';

interface Row {
  id: string;
  output: string;
}

async function database(directory: string, synchronous: 'FULL' | 'NORMAL'): Promise<BetterSqlite3.Database> {
  const { default: Database } = await import('better-sqlite3');
  const db = new Database(join(directory, 'state.db'));
  db.pragma('journal_mode=WAL');
  db.pragma(`synchronous=${synchronous}`);
  return db;
}

function sqlite(synchronous: 'FULL' | 'NORMAL', awaited: Awaited): Driver {
  return {
    id: `sqlite-wal-${synchronous.toLowerCase()}`,
    name: `better-sqlite3 WAL ${synchronous}`,
    package: 'better-sqlite3',
    awaited,
    writes: 'changes',
    how: `one row per item, one for the rest, in a prepared transaction; journal_mode=WAL, synchronous=${synchronous}`,
    async begin(directory, { done, order, current, steps }) {
      const db = await database(directory, synchronous);
      db.exec('CREATE TABLE head (id INTEGER PRIMARY KEY, current TEXT, steps INTEGER)');
      db.exec('CREATE TABLE items (position INTEGER PRIMARY KEY, id TEXT UNIQUE, output TEXT)');
      const insert = db.prepare('INSERT INTO items (id, output) VALUES (?, ?)');
      db.transaction(() => {
        db.prepare('INSERT INTO head VALUES (1, ?, ?)').run(current, steps);
        for (const id of order) insert.run(id, done[id]?.output);
      })();
      // What was put in does not belong to the first step.
      db.pragma('wal_checkpoint(TRUNCATE)');
      const putItem = db.prepare('UPDATE items SET output = ? WHERE id = ?');
      const putHead = db.prepare('UPDATE head SET current = ?, steps = steps + 1 WHERE id = 1');
      const save = db.transaction((id: string, text: string) => {
        putItem.run(text, id);
        putHead.run(id);
      });
      return {
        update: (id, text) => {
          save(id, text);
          return undefined;
        },
        step: async (id, text) => save(id, text),
        settle: async () => undefined,
        close: async () => void db.close(),
      };
    },
    async load(directory) {
      const db = await database(directory, synchronous);
      const check = db.pragma('integrity_check', { simple: true });
      if (check !== 'ok') throw new Error(`integrity_check: ${String(check)}`);
      const done: Record<string, { output: string }> = {};
      const rows = db.prepare<[], Row>('SELECT id, output FROM items ORDER BY position').all();
      for (const { id, output } of rows) done[id] = { output };
      return { items: Object.keys(done).length };
    },
  };
}

export const sqliteFull = sqlite('FULL', 'durable');
export const sqliteNormal = sqlite('NORMAL', 'written');
