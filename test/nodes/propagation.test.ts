import { after, test } from 'node:test';
import { startNodeProcesses } from './support/node-processes.ts';
import { createNewsSite, measureConfiguration, measureRevocation, percentile } from './support/propagation.ts';

/** The long form, with limits, is `test/long/propagation.test.ts`. */
const site = await createNewsSite(await startNodeProcesses({ after }, 2));

test('configuration written at one node is served by the other', async (t) => {
  t.diagnostic(`${percentile(await measureConfiguration(site, 10), 1).toFixed(0)} ms at most`);
});

test('a login that is revoked at one node ends at the other', async (t) => {
  t.diagnostic(`${percentile(await measureRevocation(site, 6), 1).toFixed(0)} ms at most`);
});
