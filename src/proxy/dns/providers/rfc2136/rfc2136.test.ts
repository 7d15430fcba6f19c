import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { startBind } from '../../../../../test/support/dns/bind.ts';
import { openTestZone, ref } from '../../../../../test/support/dns/challenge-records.ts';

const NAME = '_acme-challenge.example.com';
const never = new AbortController().signal;

suite('records at BIND 9', async () => {
  const bind = await startBind({ after }, ['example.com']);
  const open = (more: Readonly<Record<string, string>> = {}, zone = 'example.com') =>
    openTestZone(
      'rfc2136',
      { server: `127.0.0.1:${bind.port}`, key_name: 'postern', key: ref('TSIG'), ...more },
      { zone },
    );

  test('are added beside others, once, and removed one by one, with both algorithms', async () => {
    const [zone, other] = [await open(), await open({ key_name: 'postern-512', key_algorithm: 'hmac-sha512' })];
    await Promise.all([
      zone.add({ name: NAME, value: 'one' }, never),
      zone.add({ name: NAME, value: 'one' }, never),
      other.add({ name: NAME, value: 'two' }, never),
    ]);
    assert.deepEqual(await bind.values(NAME), ['one', 'two']);
    await other.remove({ name: NAME, value: 'one' }, never);
    await other.remove({ name: NAME, value: 'one' }, never);
    assert.deepEqual(await bind.values(NAME), ['two']);
    await zone.remove({ name: NAME, value: 'two' }, never);
    assert.deepEqual(await bind.values(NAME), []);
  });

  const wrong: readonly (readonly [string, Readonly<Record<string, string>>, string, RegExp])[] = [
    ['no key', { key: ref('NO_TSIG') }, 'example.com', /the environment variable NO_TSIG is not set/],
    ['a key that is not base64', { key: ref('TOKEN') }, 'example.com', /is not in base64/],
    ['a wrong key', { key: ref('WRONG_TSIG') }, 'example.com', /the key does not match \(BADSIG\): check key/],
    [
      'the other algorithm',
      { key_algorithm: 'hmac-sha512' },
      'example.com',
      /BADKEY\): check key_name and key_algorithm/,
    ],
    ['an unknown key', { key_name: 'nobody' }, 'example.com', /BADKEY\): check key_name and key_algorithm/],
    ['another zone', {}, 'example.org', /it answered NOTAUTH: it is not the primary server of the zone/],
    [
      'a port without a server',
      { server: '127.0.0.1:1' },
      'example.com',
      /cannot be reached \(ECONNREFUSED\)\. Check server/,
    ],
  ];
  for (const [what, options, zone, message] of wrong) {
    test(`fail with the reason and what to do: ${what}`, async () => {
      const opened = await open(options, zone);
      await assert.rejects(opened.add({ name: `_acme-challenge.${zone}`, value: 'x' }, never), (error: Error) => {
        assert.match(error.message, message);
        assert.equal(error.name, 'DnsFailure');
        return true;
      });
      assert.deepEqual(await bind.values(NAME), []);
    });
  }

  test('can be checked without a change', async () => {
    assert.match(await (await open()).check(never), /knows the zone and the key/);
    await assert.rejects((await open({ key_name: 'nobody' })).check(never), /BADKEY/);
  });
});
