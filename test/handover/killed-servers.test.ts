import { test } from 'node:test';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { killServers } from './killed-servers.ts';

// Own process: takes long. All messages are in `test/long/handover.test.ts`.

const TIMEOUT_MS = 240_000;

test('sqlite: agents come back to a server whose successor died with them', { timeout: TIMEOUT_MS }, async (t) => {
  const kills = [
    { who: 'new', at: 'agents_here' },
    { who: 'old', at: 'agents_here' },
  ] as const;
  for (const line of await killServers(t, undefined, kills)) t.diagnostic(line);
});

test('postgres: a new server serves alone when the old one dies', { timeout: TIMEOUT_MS }, async (t) => {
  const postgres = await startPostgres();
  const { url } = await freshDatabase(postgres);
  t.after(() => postgres.stop());
  for (const line of await killServers(t, url, [{ who: 'old', at: 'accepting_agents' }])) t.diagnostic(line);
});
