import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { EdgeWorld } from '../../support/edge-world.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';

const upstream = await recordingUpstream({ after });
const believesNobody = await EdgeWorld.open({ after });
const believesProxies = await EdgeWorld.open(
  { after },
  { POSTERN_TRUSTED_PROXIES: '127.0.0.1/32,10.0.0.0/8', POSTERN_FORWARDED_HEADER: 'true' },
);
const believesOthers = await EdgeWorld.open({ after }, { POSTERN_TRUSTED_PROXIES: '10.0.0.0/8' });

const SPOOFED = {
  'x-forwarded-for': '203.0.113.9',
  'x-forwarded-proto': 'http',
  'x-forwarded-host': 'elsewhere.test',
  'x-forwarded-port': '1',
  'x-real-ip': '203.0.113.9',
  forwarded: 'for=203.0.113.9;host=elsewhere.test',
};

/** The upstream's headers, and the address that the edge uses for the client. */
async function seenBy(world: EdgeWorld, headers: Readonly<Record<string, string>>) {
  const { host } = await world.site(await world.staticBackend(upstream.address));
  await world.ask(host, '/', { headers });
  const seen = upstream.seen.at(-1)?.headers ?? {};
  const line = world.world.logLines.findLast((text) => text.includes(`"host":"${host}"`)) ?? '{}';
  return {
    host,
    for: seen['x-forwarded-for'],
    proto: seen['x-forwarded-proto'],
    named: seen['x-forwarded-host'],
    forwarded: seen['forwarded'],
    others: [seen['x-forwarded-port'], seen['x-real-ip']],
    client: JSON.parse(line).client,
  };
}

suite('trusted_proxies', () => {
  test("empty: a client's own claims are overwritten", async () => {
    const { host, ...seen } = await seenBy(believesNobody, SPOOFED);
    assert.deepEqual(seen, {
      for: '127.0.0.1',
      proto: 'https',
      named: host,
      forwarded: undefined,
      others: [undefined, undefined],
      client: '127.0.0.1',
    });
  });

  test('a peer that is not listed is not trusted', async () => {
    const seen = await seenBy(believesOthers, SPOOFED);
    assert.deepEqual([seen.for, seen.client], ['127.0.0.1', '127.0.0.1']);
  });

  test('uses the chain of a trusted proxy, and nothing else that it sends', async () => {
    const { host, ...seen } = await seenBy(believesProxies, {
      ...SPOOFED,
      'x-forwarded-for': '198.51.100.7, 10.1.2.3',
    });
    assert.deepEqual(seen, {
      for: '198.51.100.7, 10.1.2.3, 127.0.0.1',
      proto: 'https',
      named: host,
      forwarded: `for=198.51.100.7, for=10.1.2.3, for=127.0.0.1;host="${host}";proto=https`,
      others: [undefined, undefined],
      client: '198.51.100.7',
    });
  });

  // The client can write anything to the left of what the first trusted proxy adds.
  for (const [name, left] of [
    ['another address', '192.0.2.1'],
    ['the address of a trusted proxy', '10.9.9.9'],
    ['nonsense', 'nonsense'],
    ['nothing', ''],
    ['a header in the header', 'for=192.0.2.1; "'],
  ] as const) {
    test(`ignores everything left of the client's address: ${name}`, async () => {
      const seen = await seenBy(believesProxies, { 'x-forwarded-for': `${left}, 198.51.100.7, 10.1.2.3` });
      assert.deepEqual([seen.client, seen.for], ['198.51.100.7', '198.51.100.7, 10.1.2.3, 127.0.0.1']);
    });
  }

  test('a chain of proxies alone starts with its first', async () => {
    const seen = await seenBy(believesProxies, { 'x-forwarded-for': '10.0.0.1, 10.0.0.2' });
    assert.deepEqual([seen.client, seen.for], ['10.0.0.1', '10.0.0.1, 10.0.0.2, 127.0.0.1']);
  });

  test('a proxy that sends no address makes the client unknown, not the proxy', async () => {
    const seen = await seenBy(believesProxies, { 'x-forwarded-for': '198.51.100.7, somebody, 10.1.2.3' });
    assert.deepEqual([seen.client, seen.for], ['unknown', 'unknown, 10.1.2.3, 127.0.0.1']);
    assert.equal(String(seen.forwarded).split(';')[0], 'for=unknown, for=10.1.2.3, for=127.0.0.1');
  });

  for (const lax of ['167837953', '0xa.1.1.1', '10.1.257', '012.1.1.1', '::10.1.1.1', 'fe80::1%eth0']) {
    test(`${lax} is not an address: as the client it is unknown, and as a proxy not trusted`, async () => {
      assert.equal((await seenBy(believesProxies, { 'x-forwarded-for': lax })).client, 'unknown');
      const seen = await seenBy(believesProxies, { 'x-forwarded-for': `198.51.100.7, ${lax}, 10.1.2.3` });
      assert.deepEqual([seen.client, seen.for], ['unknown', 'unknown, 10.1.2.3, 127.0.0.1']);
    });
  }

  test('upstreams get addresses in one form', async () => {
    const seen = await seenBy(believesProxies, { 'x-forwarded-for': '2001:DB8:0::7, ::ffff:a01:203' });
    assert.deepEqual([seen.client, seen.for], ['2001:db8::7', '2001:db8::7, 10.1.2.3, 127.0.0.1']);
  });

  for (const [written, address] of [
    ['5.5.5.5:4711', '5.5.5.5'],
    ['[2001:db8::5]:4711', '2001:db8::5'],
    ['[2001:db8::5]', '2001:db8::5'],
    ['[::ffff:5.5.5.5]:1', '5.5.5.5'],
  ] as const) {
    test(`reads the port off ${written}, as the client and as a proxy`, async () => {
      const seen = await seenBy(believesProxies, { 'x-forwarded-for': `${written}, 10.1.2.3:80` });
      assert.deepEqual([seen.client, seen.for], [address, `${address}, 10.1.2.3, 127.0.0.1`]);
    });
  }

  test('what only looks like an address with a port is unknown', async () => {
    for (const odd of [
      '5.5.5.5:',
      '5.5.5.5:port',
      '5.5.5.5:123456',
      '[5.5.5.5',
      '[]:80',
      '2001:db8::5]:80',
      '[::1%lo]:1',
    ]) {
      assert.equal((await seenBy(believesProxies, { 'x-forwarded-for': odd })).client, 'unknown', odd);
    }
  });

  test('IPv6', async () => {
    const seen = await seenBy(believesProxies, { 'x-forwarded-for': '2001:db8::7' });
    assert.equal(seen.client, '2001:db8::7');
    assert.equal(seen.forwarded, `for="[2001:db8::7]", for=127.0.0.1;host="${seen.host}";proto=https`);
  });

  test('ip_restriction checks the trusted address', async () => {
    const allowed = async (world: EdgeWorld, chain?: string): Promise<number> => {
      const { host, routePath } = await world.site(await world.httpResponse('in'));
      const { policyId } = await world.ipPolicy('allow', '198.51.100.0/24');
      await world.api('PUT', `${routePath}/ip_restriction`, { ip_policy_ids: [policyId] });
      return world.status(host, '/', chain === undefined ? {} : { headers: { 'x-forwarded-for': chain } });
    };
    assert.equal(await allowed(believesProxies, '198.51.100.7'), 200);
    assert.equal(await allowed(believesProxies, '198.51.100.7:4711'), 200);
    assert.equal(await allowed(believesProxies, '198.51.100.7, 203.0.113.1'), 403);
    assert.equal(await allowed(believesProxies, '198.51.100.7, nonsense'), 403);
    assert.equal(await allowed(believesProxies), 403);
    assert.equal(await allowed(believesNobody, '198.51.100.7'), 403);
    assert.equal(await allowed(believesOthers, '198.51.100.7'), 403);
  });

  test('nonsense in the chain cannot make a client pass for an allowed proxy', async () => {
    const { host, routePath } = await believesProxies.site(await believesProxies.httpResponse('in'));
    const { policyId } = await believesProxies.ipPolicy('allow', '127.0.0.0/8');
    await believesProxies.api('PUT', `${routePath}/ip_restriction`, { ip_policy_ids: [policyId] });
    const status = (chain: string) => believesProxies.status(host, '/', { headers: { 'x-forwarded-for': chain } });
    assert.equal(await status('203.0.113.1'), 403);
    assert.equal(await status('nonsense, 203.0.113.1'), 403);
    assert.equal(await status('nonsense'), 403);
  });
});

suite('forwarded_header', () => {
  test('is off by default, and a client cannot send its own either way', async () => {
    assert.equal((await seenBy(believesNobody, SPOOFED)).forwarded, undefined);
    const { forwarded, host } = await seenBy(believesProxies, { forwarded: 'for=192.0.2.1' });
    assert.equal(forwarded, `for=127.0.0.1;host="${host}";proto=https`);
  });
});
