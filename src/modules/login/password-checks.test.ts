import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  hashOfNobody,
  hashPassword,
  isHash,
  isPasswordOf,
  PasswordChecks,
  type PasswordVerdict,
} from './password-checks.ts';

const HASH = await hashPassword('the right one', 'seed');
/** Cheap to compare with, and of no password. */
const CHEAP = hashOfNobody(`$scrypt$ln=4,r=8,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`);
const SECOND_HASH = await hashPassword('the other one', 'seed');

function checksWith(perAddress: number, perIssuer: number) {
  const clock = { now: 1_000_000 };
  const checks = new PasswordChecks({ perAddress, perIssuer }, { nowMs: () => clock.now } as never);
  const send = async (password: string, clientAddress = '192.0.2.1', slot = 'alice'): Promise<string> => {
    const digest = `${slot} ${password}`;
    const hash = password.startsWith('guess') ? CHEAP : HASH;
    const verdict: PasswordVerdict = await checks.check({ password, hash, digest, slot, clientAddress });
    return typeof verdict === 'string' ? verdict : verdict.limit;
  };
  return { checks, clock, send };
}

test('a hash is that of its password alone, in any form of it', async () => {
  assert.ok(isHash(HASH));
  assert.equal(await isPasswordOf('the right one', HASH), true);
  assert.equal(await isPasswordOf('the right onE', HASH), false);
  assert.equal(await isPasswordOf('the right one', SECOND_HASH), false);
  assert.equal(await isPasswordOf('', ''), false);
  assert.notEqual(await hashPassword('the right one', 'another seed'), HASH);
  const [, , cost] = hashOfNobody(HASH).split('$');
  assert.equal(cost, HASH.split('$')[2], 'an unknown user costs as much as a known one');
});

test('guesses from an address are limited, and the right password is not kept out once it is known', async () => {
  const { clock, send } = checksWith(3, 0);
  assert.equal(await send('the right one', '192.0.2.9'), 'right');
  assert.deepEqual(
    [await send('a'), await send('b'), await send('c'), await send('d'), await send('the right one')],
    ['wrong', 'wrong', 'wrong', 'address', 'right'],
  );
  assert.equal(await send('the right one', '192.0.2.1', 'bob'), 'address', 'it is not known for another user');
  clock.now += 60_000;
  assert.equal(await send('e'), 'wrong');
});

test('hopping through the /64 of an IPv6 network is limited by the wider ones', async () => {
  const { send } = checksWith(3, 0);
  const seen: string[] = [];
  for (let at = 0; at < 20; at += 1)
    seen.push(await send(`guess ${at}`, `2001:db8:1:${at.toString(16)}00::1`, `name ${at}`));
  assert.equal(seen.filter((each) => each === 'wrong').length, 12, 'four times the limit for a /48');
});

test('guesses for a user from everywhere are limited, and leave a part to addresses that were right before', async () => {
  const { send } = checksWith(0, 8);
  assert.equal(await send('the right one', '192.0.2.9'), 'right');
  const seen: string[] = [];
  for (let at = 0; at < 20; at += 1) seen.push(await send(`guess ${at}`, `198.51.${at}.7`));
  assert.ok(seen.filter((each) => each === 'wrong').length <= 6, seen.join());
  assert.equal(seen.at(-1), 'issuer');
  assert.equal(await send('a new password', '192.0.2.9'), 'wrong', 'the address may still try');
});

test('requests with the same header share one comparison, and success costs nothing', async () => {
  const { send } = checksWith(2, 2);
  assert.deepEqual(
    new Set(await Promise.all(Array.from({ length: 50 }, () => send('the right one')))),
    new Set(['right']),
  );
  assert.deepEqual(new Set(await Promise.all(Array.from({ length: 9 }, () => send('wrong one')))), new Set(['wrong']));
  assert.equal(await send('another'), 'wrong');
});

test('comparisons in progress are bounded, and what does not fit is not counted', async () => {
  const { send } = checksWith(0, 0);
  const all = await Promise.all(Array.from({ length: 100 }, (_, at) => send(`guess ${at}`, `198.51.${at}.7`)));
  assert.equal(all.filter((each) => each === 'busy').length, 100 - 64 - 2);
  assert.equal(await send('the right one'), 'right');
});

test('an address takes half of the comparisons in progress, and another one is not kept waiting for a place', async () => {
  const { send } = checksWith(0, 0);
  const guesses = Promise.all(Array.from({ length: 100 }, (_, at) => send(`guess ${at}`)));
  assert.equal(await send('the right one', '192.0.2.9'), 'right');
  assert.equal((await guesses).filter((each) => each === 'wrong').length, 33);
});

test('an address that fills its share does not keep another one waiting for a turn', async () => {
  const { send } = checksWith(0, 0);
  const done: string[] = [];
  const guess = async (password: string, address: string): Promise<void> => {
    await send(password, address);
    done.push(address);
  };
  const guesses = Array.from({ length: 33 }, (_, at) => guess(`guess ${at}`, '192.0.2.1'));
  await Promise.all([...guesses, guess('guess of another', '192.0.2.9')]);
  assert.ok(done.indexOf('192.0.2.9') <= 2, done.join());
});
