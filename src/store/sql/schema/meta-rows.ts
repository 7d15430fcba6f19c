import { type Program, queryOne, statement, text } from '../statements/statement.ts';

export type MetaName = 'schema_version' | 'compatible_from' | 'account_id' | 'key_check';

export function* readMeta(name: MetaName): Program<string | null> {
  const row = yield* queryOne('SELECT value FROM meta WHERE name = ?', [name]);
  return row === null ? null : text(row, 'value');
}

export function* writeMeta(name: MetaName, value: string): Program<void> {
  yield statement(
    'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
    [name, value],
  );
}
