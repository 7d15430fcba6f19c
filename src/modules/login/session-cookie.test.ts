import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { suite, test } from 'node:test';
import { cookieNames, SessionCookies } from './session-cookie.ts';

const NAMES = cookieNames('');
const hex = (bytes: number): string => randomBytes(bytes).toString('hex');
const forged = (mac = hex(16)): string => `pstn1.s.${randomBytes(32).toString('base64url')}.${mac}`;

function counted() {
  const calls = { macs: 0 };
  const cookies = new SessionCookies(
    (purpose, data) => {
      calls.macs += 1;
      return createHmac('sha256', 'key').update(`${purpose}\n${data}`).digest('hex');
    },
    (bytes) => randomBytes(bytes).toString('base64url'),
  );
  const key = cookies.create();
  calls.macs = 0;
  return { calls, cookies, key };
}

const lineOf = (pairs: readonly (readonly [string, string])[]): string =>
  pairs.map(([name, value]) => `${name}=${value}`).join('; ');

suite('a request with 150 forged session cookies', () => {
  const many = (make: () => string) => Array.from({ length: 150 }, () => [NAMES.session, make()] as const);

  test('costs no MAC beside the companion of another key', () => {
    const { calls, cookies, key } = counted();
    assert.equal(cookies.find([lineOf([...many(forged), [NAMES.companion, key.companionValue]])], NAMES), null);
    assert.equal(calls.macs, 0);
  });

  test('costs a few MACs, however well it is made', () => {
    const { calls, cookies } = counted();
    const tag = hex(4);
    const companions = Array.from({ length: 40 }, () => [NAMES.companion, `pstn1.b.${tag}.${hex(16)}`] as const);
    const line = lineOf([...many(() => forged(tag + hex(12))), ...companions]);
    assert.equal(cookies.find([line], NAMES), null);
    assert.ok(calls.macs <= 4, `${calls.macs} MACs`);
    calls.macs = 0;
    assert.deepEqual(cookies.allKeys([line]), []);
    assert.ok(calls.macs <= 4, `${calls.macs} MACs`);
  });

  test('is that of the browser if its own cookie is among them, wherever it stands', () => {
    const { calls, cookies, key } = counted();
    const own = [NAMES.session, key.cookieValue] as const;
    const planted = many(forged);
    for (const pairs of [
      [own, ...planted],
      [...planted, own],
    ]) {
      calls.macs = 0;
      const lines = [lineOf([...pairs, [NAMES.companion, key.companionValue]])];
      assert.deepEqual(cookies.find(lines, NAMES), key);
      assert.ok(calls.macs <= 3, `${calls.macs} MACs`);
      assert.deepEqual(
        cookies.allKeys(lines).map(({ keyHash }) => keyHash),
        [key.keyHash],
      );
    }
  });
});

test('forged cookies under 100 prefixes cost a logout a bounded number of MACs', () => {
  const { calls, cookies } = counted();
  const pairs = Array.from({ length: 90 }, (_, at) => {
    const { session, companion } = cookieNames(`p${at}.`);
    const tag = hex(4);
    return [
      [session, forged(tag + hex(12))],
      [companion, `pstn1.b.${tag}.${hex(16)}`],
    ] as const;
  });
  assert.deepEqual(cookies.allKeys([lineOf(pairs.flat())]), []);
  assert.ok(calls.macs <= 16, `${calls.macs} MACs`);
});

test('a key counts only with the companion that was set beside it', () => {
  const { cookies, key } = counted();
  const other = cookies.create();
  assert.equal(cookies.verify([key.cookieValue], [other.companionValue]), null);
  assert.equal(cookies.verify([key.cookieValue], []), null);
  const grafted = `${key.companionValue.slice(0, 17)}${other.companionValue.slice(17)}`;
  assert.equal(cookies.verify([key.cookieValue], [grafted]), null);
  assert.deepEqual(cookies.verify([other.cookieValue, key.cookieValue], [key.companionValue]), key);
});
