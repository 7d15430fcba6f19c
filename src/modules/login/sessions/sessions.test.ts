import assert from 'node:assert/strict';
import { test } from 'node:test';
import { storeErrors } from '../../../store/errors.ts';
import type { LoginRecord, LoginRecords } from '../../contract/login-store.ts';
import { SessionCookies } from '../session-cookie.ts';
import { Sessions } from './sessions.ts';

test('a login that another thread knew is read again when the store answers', async () => {
  const cookies = new SessionCookies(
    () => 'a'.repeat(64),
    () => 'k'.repeat(43),
  );
  const key = cookies.create();
  const record = { id: 'as_1', keyHash: key.keyHash, version: 1, lastActiveMs: 0, doc: {} } as unknown as LoginRecord;
  let isAway = true;
  let known: readonly LoginRecord[] = [record];
  const records = {
    findByKey: () =>
      isAway
        ? Promise.reject(storeErrors.create('ERR_POSTERN_STORE_UNAVAILABLE', 'away'))
        : // It ended while nobody could tell.
          Promise.resolve([]),
    threads: { seen: () => Promise.resolve(known) },
  } as unknown as LoginRecords;
  const sessions = new Sessions(records, cookies, { nowMs: () => 0 });

  assert.equal((await sessions.load(key))?.grants[0]?.id, 'as_1');
  assert.equal(sessions.seen({ keyHash: key.keyHash }).length, 1, 'and further threads hear of it');
  isAway = false;
  assert.notEqual(await sessions.load(key), null, 'in memory');
  sessions.storeAnswers();
  assert.equal(await sessions.load(key), null);

  isAway = true;
  known = [];
  await assert.rejects(async () => new Sessions(records, cookies, { nowMs: () => 0 }).load(key), /away/);
});
