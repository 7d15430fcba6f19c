import { test } from 'node:test';
import { drainOpenExchanges } from './open-exchanges.ts';

test('a node with two workers that stops cuts nothing before its limit, and no visitor gets an error', async (t) => {
  for (const line of await drainOpenExchanges(t, 2)) t.diagnostic(line);
});
