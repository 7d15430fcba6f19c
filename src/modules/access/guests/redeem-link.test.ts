import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyedMutex } from '../../../kit/async/turns.ts';
import type { OwnPathRequest } from '../../contract/prepared-module.ts';
import { cookieNames } from '../../login/session-cookie.ts';
import type { Guests } from './guests.ts';
import { redeemLink } from './redeem-link.ts';

const OUTAGE = new Error('the store is away');
const LINK = { id: 'gl_1', edgeId: 'edghts_1', routeId: 'edghtsrt_1', maxBrowsers: 1, expiresAtMs: 1000, record: {} };

/** A link whose use cannot be counted. `isTaken`: another browser is faster. */
function guestsWhose(count: () => Promise<boolean>, remove: () => Promise<boolean>): Guests {
  const state = { isTaken: false };
  return {
    redeeming: new KeyedMutex(),
    links: { get: () => LINK },
    cookieNames: cookieNames(''),
    login: {
      count: () => {},
      recordSession: () =>
        Promise.resolve({
          id: 'as_1',
          key: { cookieValue: 'pstn1.s.new', companionValue: 'pstn1.b.new', keyHash: '' },
        }),
      records: { deleteSession: remove },
    },
    ports: {
      log: { info: () => {} },
      followed: {
        get: () => (state.isTaken ? {} : undefined),
        write: () => {
          state.isTaken = true;
          return count();
        },
      },
    },
  } as unknown as Guests;
}

const request = {
  id: 'req_1',
  nowMs: 0,
  clientAddress: '192.0.2.1',
  header: () => undefined,
} as unknown as OwnPathRequest;

const FAILURES: Readonly<Record<string, Guests>> = {
  'cannot be counted': guestsWhose(
    () => Promise.reject(OUTAGE),
    () => Promise.resolve(true),
  ),
  'lost a race and cannot be removed': guestsWhose(
    () => Promise.resolve(false),
    () => Promise.reject(OUTAGE),
  ),
};

for (const [name, guests] of Object.entries(FAILURES)) {
  test(`a redemption that ${name} still gives the browser the key that its other logins have moved to`, async () => {
    const { outcome, cookies, ...rest } = await redeemLink(guests, request, LINK.id);
    assert.deepEqual([outcome, rest], ['failed', { error: OUTAGE }]);
    assert.match(cookies.join(), /postern\.session=pstn1\.s\.new;.*__Host-postern\.session=pstn1\.b\.new;/);
  });
}
