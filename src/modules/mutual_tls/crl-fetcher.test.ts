import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RuntimePorts } from '../contract/keeps-state.ts';
import { CrlFetcher } from './crl-fetcher.ts';

test('a list that another process claims is not asked for again and again', async () => {
  const clock = { ms: 1_000_000 };
  let claims = 0;
  const ports = {
    clock: { nowMs: () => clock.ms },
    log: { info() {}, warn() {}, error() {} },
    network: { createFetch: () => () => Promise.reject(new Error('nothing to fetch')), isAddressAllowed: () => true },
    followed: {
      get: () => undefined,
      write: async () => {
        claims += 1;
        assert.ok(claims < 100, 'it asks without an end');
        return false;
      },
    },
    counter: () => () => {},
  } as unknown as RuntimePorts;
  const authority = { kind: 'certificate_authority', id: 'ca_1', revision: 1, doc: {} };
  const look = (): void => fetcher.look(authority, 'http://crl.example/one');
  const fetcher: CrlFetcher = new CrlFetcher(ports, {
    intervalMs: 1_000,
    allowedCidrs: [],
    current: () => [],
    onFree: look,
  });
  look();
  await new Promise(setImmediate);
  assert.equal(claims, 1);
  clock.ms += 60_000;
  look();
  await new Promise(setImmediate);
  assert.equal(claims, 2, 'later it looks again');
  await fetcher.close();
});
