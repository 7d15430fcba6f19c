import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { suite, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createKeyring } from '../../store/keyring.ts';
import type { PersonalMail } from './contracts.ts';
import { type Asker, EmailCodes } from './email-codes.ts';

const ANA = { id: `ua_${'a'.repeat(27)}`, email: 'ana@example.com', name: '', isActive: true };
const ROOT = { id: `ua_${'r'.repeat(27)}`, email: 'root@example.com', name: '', isActive: true };
const GONE = { id: `ua_${'g'.repeat(27)}`, email: 'gone@example.com', name: '', isActive: false };

/** Two nodes share claims and keys; each has codes of its own. */
function nodes() {
  const keyring = createKeyring([randomBytes(32)]);
  const claimed = new Set<string>();
  const asked: string[] = [];
  const mails: PersonalMail[] = [];
  const time = { nowMs: 1_800_000_000_000 };
  const accounts = [ANA, ROOT, GONE];
  const open = (): EmailCodes =>
    new EmailCodes({
      hostname: 'id.example.test',
      clock: { nowMs: () => time.nowMs },
      people: {
        account: (id) => accounts.find((account) => account.id === id),
        accountByEmail: (email) => accounts.find((account) => account.email === email),
        hasConsoleRole: (id) => id === ROOT.id,
      },
      mail: {
        enqueue: (mail) => {
          mails.push(mail);
          return Promise.resolve(true);
        },
      },
      log: { warn: () => {} },
      seal: (purpose, text) => keyring.seal(text, purpose),
      open: (purpose, sealed) => {
        try {
          return keyring.open(sealed, purpose);
        } catch {
          return null;
        }
      },
      networkOf: (address) => address.slice(0, address.lastIndexOf('.')),
      newId: (prefix) => `${prefix}_${randomBytes(20).toString('hex').slice(0, 27)}`,
      claimOnce: (key) => {
        asked.push(key);
        const isFirst = !claimed.has(key);
        claimed.add(key);
        return Promise.resolve(isFirst);
      },
    });
  const ask = async (
    codes: EmailCodes,
    email: string,
    asker: Partial<Asker> = {},
  ): Promise<{ sealed: string; code: string }> => {
    const before = mails.length;
    const sealed = codes.ask(email, { browser: 'browser', clientAddress: '192.0.2.1', known: null, ...asker });
    for (let turns = 0; turns < 20 && mails.length === before; turns += 1) await turn();
    return { sealed, code: /\b\w{4}-\w{4}\b/.exec(mails[before]?.text ?? '')?.[0] ?? '' };
  };
  return { one: open(), other: open(), claimed, asked, mails, time, ask };
}

suite('codes by e-mail', () => {
  test('a code of one node works at another one, once, as people type it', async () => {
    const { one, other, ask, mails, time } = nodes();
    const { sealed, code } = await ask(one, ANA.email);
    assert.match(code, /^[A-HJKMNP-TV-Z2-9]{4}-[A-HJKMNP-TV-Z2-9]{4}$/);
    assert.deepEqual([mails[0]?.to, mails[0]?.expiresAtMs], [ANA.email, time.nowMs + 600_000]);
    assert.equal((await other.check(sealed, 'browser', ` ${code.toLowerCase().replace('-', ' ')} `))?.id, ANA.id);
    assert.equal(await one.check(sealed, 'browser', code), null);
  });

  test('of two uses at once, one wins', async () => {
    const { one, other, ask } = nodes();
    const { sealed, code } = await ask(one, ANA.email);
    const results = await Promise.all([one, other].map((codes) => codes.check(sealed, 'browser', code)));
    assert.equal(results.filter((account) => account !== null).length, 1);
  });

  test('five wrong tries at any nodes end it', async () => {
    const { one, other, ask } = nodes();
    const { sealed, code } = await ask(one, ANA.email);
    await Promise.all([one, other, one, other, one].map((codes) => codes.check(sealed, 'browser', 'AAAA-AAAA')));
    assert.equal(await other.check(sealed, 'browser', code), null);
    const again = await ask(one, ANA.email);
    assert.equal(await one.check(sealed, 'browser', again.code), null);
    assert.equal((await one.check(again.sealed, 'browser', again.code))?.id, ANA.id);
  });

  test('a code works in the browser that asked, for ten minutes', async () => {
    const { one, ask, time } = nodes();
    const { sealed, code } = await ask(one, ANA.email);
    assert.equal(await one.check(sealed, 'another', code), null);
    assert.equal(await one.check(`${sealed.slice(0, -2)}AA`, 'browser', code), null);
    time.nowMs += 600_000;
    assert.equal(await one.check(sealed, 'browser', code), null);
  });

  test('a network gets five for a person in an hour, from all nodes, with any addresses and browsers', async () => {
    const { one, other, ask, mails, time } = nodes();
    for (const [at, codes] of [one, other, one, other, one, other, one].entries())
      await ask(codes, ANA.email, { browser: `${at}`, clientAddress: `192.0.2.${at}` });
    assert.equal(mails.length, 5);
    time.nowMs += 3_600_000;
    await ask(one, ANA.email);
    assert.equal(mails.length, 6);
  });

  test('strangers who ask for codes lock nobody out', async () => {
    const { one, other, ask, mails } = nodes();
    for (let times = 0; times < 7; times += 1) await ask(one, ANA.email);
    assert.equal(mails.length, 5);
    const { sealed, code } = await ask(other, ANA.email, { clientAddress: '198.51.100.7' });
    assert.equal((await one.check(sealed, 'browser', code))?.id, ANA.id);
    // However many networks they have, and from the network of the person, if the person has logged in with the
    // browser.
    for (let network = 0; network < 20; network += 1)
      for (let times = 0; times < 6; times += 1)
        await ask(one, ANA.email, { clientAddress: `203.0.${network}.1`, browser: `${times}` });
    assert.equal(mails.length, 20);
    const known = { account: ANA.id, id: 'laptop' };
    for (let times = 0; times < 7; times += 1) await ask(other, ANA.email, { known });
    assert.equal(mails.length, 25);
    const own = await ask(one, ANA.email, { known: { account: ANA.id, id: 'phone' } });
    assert.equal((await one.check(own.sealed, 'browser', own.code))?.id, ANA.id);
    // That of another person is a stranger's.
    await ask(one, ANA.email, { known: { account: GONE.id, id: 'other' } });
    assert.equal(mails.length, 26);
  });

  test('four networks do not use up the codes of a new browser in another one', async () => {
    const { one, other, ask, mails } = nodes();
    for (let times = 0; times < 8; times += 1)
      for (let network = 0; network < 4; network += 1)
        await ask(one, ANA.email, { clientAddress: `203.0.${network}.1` });
    const before = mails.length;
    const { sealed, code } = await ask(other, ANA.email, { clientAddress: '198.51.100.7' });
    assert.equal(mails.length, before + 1);
    assert.equal((await one.check(sealed, 'browser', code))?.id, ANA.id);
  });

  test('a flood of requests and tries for one person does not reach the store once their limits are', async () => {
    const { one, ask, asked, mails } = nodes();
    const { sealed } = await ask(one, ANA.email);
    const flood = async (): Promise<void> => {
      for (let times = 0; times < 6; times += 1) await ask(one, ANA.email);
      await Promise.all(Array.from({ length: 6 }, () => one.check(sealed, 'browser', 'AAAA-AAAA')));
    };
    await flood();
    asked.length = 0;
    await flood();
    assert.deepEqual([asked, mails.length], [[], 5]);
  });

  test('people of the console, disabled people and strangers get none, and nothing is stored', async () => {
    const { one, ask, mails, claimed } = nodes();
    for (const email of [ROOT.email, GONE.email, 'nobody@example.com']) {
      const { sealed } = await ask(one, email);
      assert.equal(await one.check(sealed, 'browser', 'AAAA-AAAA'), null);
    }
    assert.deepEqual([mails.length, claimed.size], [0, 0]);
  });

  test('neither the answer nor its length tells whether an address has an account', async () => {
    const { one, ask } = nodes();
    const lengths = new Set<number>();
    for (const email of [ANA.email, ROOT.email, 'nobody@example.com'])
      lengths.add((await ask(one, email)).sealed.length);
    assert.equal(lengths.size, 1);
  });

  test('a refusal takes the same time whether or not the store counts the try', async () => {
    const { one, ask } = nodes();
    for (const email of [ANA.email, 'nobody@example.com']) {
      const { sealed } = await ask(one, email);
      const startedMs = performance.now();
      await one.check(sealed, 'browser', 'AAAA-AAAA');
      assert(performance.now() - startedMs >= 245);
    }
  });
});
