import { test } from 'node:test';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { killServers } from './killed-servers.ts';

// Own process: takes long. All messages are in `test/long/handover.test.ts`.

const TIMEOUT_MS = 240_000;

test('postgres: kill -9 of a server during a handover leaves one that serves', { timeout: TIMEOUT_MS }, async (t) => {
  const postgres = await startPostgres();
  const { url } = await freshDatabase(postgres);
  t.after(() => postgres.stop());
  const figures = await killServers(t, url, [
    { who: 'new', at: 'accepting_agents' },
    { who: 'old', at: 'accepting_agents' },
  ]);
  for (const line of figures) t.diagnostic(line);
});
