import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoginClientId, LoginRecords } from '../../contract/login-store.ts';
import { OrphanedLogins } from './orphaned-logins.ts';

const OLD: LoginClientId = { issuer: 'postern:guest', clientId: 'gl_old' };
const NEW: LoginClientId = { issuer: 'postern:guest', clientId: 'gl_new' };

test('a node that lags behind reads the configuration before it ends logins', async () => {
  const seenHere = [OLD];
  const kept: (readonly LoginClientId[])[] = [];
  const records = {
    listEdgeIds: () => Promise.resolve([]),
    endOrphans: (_edgeId: string, clients: readonly LoginClientId[]) => {
      kept.push(clients);
      return Promise.resolve([]);
    },
  } as unknown as LoginRecords;
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const orphans = new OrphanedLogins(log, records, () => {
    // Another node has created the link, and admitted a guest.
    if (!seenHere.includes(NEW)) seenHere.push(NEW);
    return Promise.resolve();
  });
  orphans.keepClients(() => [...seenHere]);
  await orphans.open();
  orphans.hasLogins('edghts_1');
  orphans.edgeChanged('edghts_1');
  await orphans.close();
  assert.deepEqual(kept, [[OLD, NEW]]);
});

test('a node that cannot read the configuration ends nothing', async () => {
  let problems = 0;
  let ends = 0;
  const records = {
    endOrphans: () => {
      ends += 1;
      return Promise.resolve([]);
    },
  } as unknown as LoginRecords;
  const log = { info: () => {}, warn: () => {}, error: () => (problems += 1) };
  const orphans = new OrphanedLogins(log, records, () => Promise.reject(new Error('the store is away')));
  orphans.hasLogins('edghts_1');
  orphans.edgeChanged('edghts_1');
  await orphans.close();
  assert.deepEqual([problems, ends], [1, 0]);
});
