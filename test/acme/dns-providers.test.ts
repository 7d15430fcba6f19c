import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import type { ChallengeRecords } from '../../src/proxy/dns/challenge-records.ts';
import type { DnsZone } from '../../src/proxy/dns/dns-provider.ts';
import type { DnsLookup } from '../../src/proxy/dns/servers/dns-lookup.ts';
import { hasFailed, isIssued, untilManaged } from '../support/acme/acme-world.ts';
import { type FakeAcmeServer, startFakeAcme } from '../support/acme/fake-acme-server.ts';
import { type AcmeNode, MovedClock, openNode } from '../support/acme/manager-world.ts';
import { challengeRecords, ref } from '../support/dns/challenge-records.ts';
import { type FakeNameServer, startFakeNameServer } from '../support/dns/fake-name-server.ts';
import { type StandIn, startStandIn } from '../support/dns/stand-in.ts';
import { freshDatabase, startPostgres } from '../support/postgres.ts';
import { tempDir } from '../support/temp-dir.ts';

const NAME = '_acme-challenge.example.com';
const ZONE_ID = '023e105f4ecef8ad9ca31a8372d0c353';

/** A provider whose records two name servers show. */
interface World {
  readonly fake: FakeAcmeServer;
  readonly servers: readonly [FakeNameServer, FakeNameServer];
  readonly api: StandIn;
  readonly lookup: DnsLookup;
  readonly aliases: Map<string, string>;
  /** What the provider has, and what a server shows of it. */
  readonly records: Map<string, string>;
  /** Servers that show what the provider has. */
  showing: readonly FakeNameServer[];
  readonly zones: readonly DnsZone[];
  dns(overrides?: Parameters<typeof challengeRecords>[2]): ChallengeRecords;
}

/**
 * Two values are published before either is validated. The first order may have removed its own when the second looks.
 */
function validateTogether(context: TestContext, { fake, records }: World): void {
  let wereTogether = false;
  fake.behaviour.intercept = async ({ resource }) => {
    if (resource === 'challenge')
      await context.waitFor(
        () => {
          wereTogether ||= records.size === 2;
          assert.ok(wereTogether);
        },
        { timeout: 30_000 },
      );
    return null;
  };
}

async function openWorld(context: TestContext): Promise<World> {
  const fake = await startFakeAcme(context);
  const servers = [await startFakeNameServer(context), await startFakeNameServer(context)] as const;
  const records = new Map<string, string>();
  let count = 0;
  const api = await startStandIn(context, ({ method, url, body }) => {
    const result = (value: unknown) => ({ status: 200, body: { success: true, errors: [], result: value } });
    if (method === 'GET')
      return result(
        [...records].map(([id, record]) => ({
          id,
          type: 'TXT',
          name: record.split(' ')[0],
          content: record.split(' ')[1],
        })),
      );
    if (method === 'DELETE') records.delete(url.pathname.split('/').at(-1) ?? '');
    else {
      const { name, content } = JSON.parse(body) as { name: string; content: string };
      count += 1;
      records.set(`r${count}`, `${name} ${content}`);
    }
    show();
    return result({});
  });
  const aliases = new Map<string, string>();
  const lookup: DnsLookup = {
    aliasOf: async (name) => aliases.get(name) ?? null,
    serversOf: async (zone) => ({
      zone,
      servers: servers.map((server, index) => ({ host: `ns${index + 1}.example.com`, addresses: [server] })),
    }),
    addressesOf: async (host) => [host],
  };
  const options = { token: ref('TOKEN'), url: api.url, zone_id: ZONE_ID };
  const zones = ['example.com', 'dns.example.net'].map((zone) => ({ zone, provider: 'cloudflare', options }));
  const world: World = {
    fake,
    servers,
    api,
    lookup,
    aliases,
    records,
    zones,
    showing: servers,
    dns: (overrides) => challengeRecords(zones, lookup, overrides),
  };
  const show = (): void => {
    for (const server of world.showing) {
      const values: Record<string, string[]> = {};
      for (const record of records.values()) {
        const [name = '', content = ''] = record.split(' ');
        values[name] = [...(values[name] ?? []), content.replaceAll('"', '')];
      }
      server.values = values;
    }
  };
  return world;
}

const posts = ({ api }: World): number => api.requests.filter(({ method }) => method === 'POST').length;
const messageOf = async (node: AcmeNode, hostname: string): Promise<string> =>
  (await untilManaged(node, hostname, hasFailed)).job?.msg ?? '';

suite('an order by dns-01 with a provider', () => {
  test('of a name and of its wildcard run at the same time: values are added, and removed one by one', async (context) => {
    const world = await openWorld(context);
    let together = 0;
    world.fake.behaviour.validate = () => {
      together = Math.max(together, world.records.size);
      return true;
    };
    validateTogether(context, world);
    const node = await openNode(context, { servers: [world.fake], dns: world.dns(), challenges: ['dns-01'] });
    await node.edge('*.example.com', 'example.com');
    for (const host of ['*.example.com', 'example.com']) await untilManaged(node, host, isIssued);
    assert.equal(together, 2);
    assert.equal(world.records.size, 0);
  });

  test('of two servers with one database are ordered once each, and each server keeps the values of the other', async (context) => {
    const world = await openWorld(context);
    const postgres = await startPostgres();
    context.after(() => postgres.stop());
    const { url: databaseUrl } = await freshDatabase(postgres);
    validateTogether(context, world);
    const dns = [world.dns(), world.dns()] as const;
    const nodes: AcmeNode[] = [];
    for (const each of dns) {
      nodes.push(
        await openNode(context, {
          servers: [world.fake],
          dns: each,
          challenges: ['dns-01'],
          databaseUrl,
          maxOrders: 2,
        }),
      );
    }
    const hosts = ['*.example.com', 'example.com'];
    await nodes[0]?.edge(...hosts);
    for (const node of nodes) for (const host of hosts) await untilManaged(node, host, isIssued);
    assert.deepEqual(world.fake.orders.map(({ hostname }) => hostname).sort(), hosts);
    assert.equal(world.fake.accounts.size, 1);
    await context.waitFor(() => assert.equal(world.records.size, 0), { timeout: 30_000 });
    // Which server orders which name is left to chance, so both write values themselves, too.
    const { signal } = new AbortController();
    for (const [at, each] of dns.entries()) await each.add({ name: NAME, value: `value-${at}` }, false, signal);
    assert.equal(world.records.size, 2);
    await dns[0].remove({ name: NAME, value: 'value-0' }, signal);
    assert.match([...world.records.values()].join(), /^\S+ "?value-1"?$/);
    for (const node of nodes) await node.close();
  });

  test('asks the ACME server only when all name servers show the value', async (context) => {
    const world = await openWorld(context);
    const [first, second] = world.servers;
    world.showing = [first];
    const seen: string[] = [];
    world.fake.behaviour.validate = () => {
      seen.push(...(second.values?.[NAME] ?? []));
      return true;
    };
    const node = await openNode(context, { servers: [world.fake], dns: world.dns() });
    await node.edge('*.example.com');
    await context.waitFor(() => assert.ok(second.questions > 2), { timeout: 30_000 });
    assert.equal(world.fake.requests.filter(({ resource }) => resource === 'challenge').length, 0);
    second.values = { ...first.values };
    await untilManaged(node, '*.example.com', isIssued);
    assert.equal(seen.length, 1);
  });

  test('fails with each server that does not show the value, and continues the same order later', async (context) => {
    const world = await openWorld(context);
    const [first, second] = world.servers;
    first.code = 5;
    second.isAuthoritative = false;
    const clock = new MovedClock();
    const dns = world.dns({ visibleMs: 1_500 });
    const node = await openNode(context, { servers: [world.fake], dns, clock });
    await node.edge('*.example.com');
    const message = await messageOf(node, '*.example.com');
    assert.match(
      message,
      /not visible everywhere after 1\.5 s \(acme_dns_timeout\): ns1\.example\.com \(127\.0\.0\.1\): it answered REFUSED; ns2\.example\.com \(127\.0\.0\.1\): it does not serve the zone/,
    );
    assert.equal(
      (await untilManaged(node, '*.example.com', hasFailed)).job?.error_code,
      'ERR_POSTERN_ACME_DNS_NOT_VISIBLE',
    );
    assert.equal(world.records.size, 1);
    Object.assign(first, { code: 0 });
    Object.assign(second, { isAuthoritative: true });
    clock.advance(3_600_000);
    await untilManaged(node, '*.example.com', isIssued);
    assert.equal(world.fake.orders.length, 1);
    // The value was visible already: it is not added again.
    assert.equal(posts(world), 1);
    assert.equal(world.records.size, 0);
  });

  test('follows CNAME records to the zone of another provider', async (context) => {
    const world = await openWorld(context);
    world.aliases.set('_acme-challenge.shop.example.org', 'one.example.org');
    world.aliases.set('one.example.org', 'shop.dns.example.net');
    const node = await openNode(context, { servers: [world.fake], dns: world.dns() });
    await node.edge('*.shop.example.org');
    await untilManaged(node, '*.shop.example.org', isIssued);
    const names = world.api.requests
      .filter(({ method }) => method === 'POST')
      .map(({ body }) => (JSON.parse(body) as { name: string }).name);
    assert.deepEqual(names, ['shop.dns.example.net']);
  });

  test('says which zone is missing, and names a circle of CNAME records', async (context) => {
    const world = await openWorld(context);
    world.aliases.set('_acme-challenge.b.example.org', 'x.example.org');
    world.aliases.set('x.example.org', '_acme-challenge.b.example.org');
    world.aliases.set('_acme-challenge.c.example.org', 'elsewhere.example.edu');
    const node = await openNode(context, { servers: [world.fake], dns: world.dns() });
    await node.edge('*.a.example.org', '*.b.example.org', '*.c.example.org');
    assert.match(
      await messageOf(node, '*.a.example.org'),
      /acme_dns has no zone for _acme-challenge\.a\.example\.org: add its zone/,
    );
    assert.match(
      await messageOf(node, '*.b.example.org'),
      /lead in a circle \(_acme-challenge\.b\.example\.org → x\.example\.org → _acme-challenge\.b\.example\.org\): remove one/,
    );
    assert.match(
      await messageOf(node, '*.c.example.org'),
      /no zone for elsewhere\.example\.edu \(where the CNAME record of _acme-challenge\.c\.example\.org leads\)/,
    );
  });

  test('removes at the next attempt what the provider did not remove before', async (context) => {
    const world = await openWorld(context);
    world.fake.behaviour.validate = () => 'no such record';
    const clock = new MovedClock();
    const node = await openNode(context, { servers: [world.fake], dns: world.dns(), clock });
    const refused = {
      status: 403,
      body: { success: false, errors: [{ code: 10_000, message: 'Authentication error' }] },
    };
    // The second request lists the records to remove.
    world.api.first.push(null, refused);
    await node.edge('*.example.com');
    const failed = await untilManaged(node, '*.example.com', hasFailed);
    assert.equal(failed.dns_leftovers?.length, 1);
    assert.equal(failed.order, null);
    assert.equal(world.records.size, 1);
    assert.ok(node.log.some((line) => line.includes('failed to remove a DNS record of ACME')));
    world.fake.behaviour.validate = () => true;
    clock.advance(3_600_000);
    const issued = await untilManaged(node, '*.example.com', isIssued);
    assert.deepEqual(issued.dns_leftovers, []);
    assert.equal(world.records.size, 0);
  });

  test('is continued after a crash with the value that is there, which is then removed', async (context) => {
    const world = await openWorld(context);
    const dataDir = await tempDir(context);
    world.fake.behaviour.intercept = ({ resource }) => (resource === 'challenge' ? 'hang' : null);
    const crashing = await openNode(context, { servers: [world.fake], dns: world.dns(), dataDir });
    await crashing.edge('*.example.com');
    await context.waitFor(() => assert.ok(world.fake.requests.some(({ resource }) => resource === 'challenge')), {
      timeout: 30_000,
    });
    await crashing.close();
    assert.equal(world.records.size, 1);
    world.fake.behaviour.intercept = null;
    const next = await openNode(context, { servers: [world.fake], dns: world.dns(), dataDir });
    await untilManaged(next, '*.example.com', isIssued);
    assert.equal(world.fake.orders.length, 1);
    assert.equal(posts(world), 1);
    assert.equal(world.records.size, 0);
  });

  test('of a name that nobody asks for any longer leaves no record', async (context) => {
    const world = await openWorld(context);
    for (const server of world.servers) server.code = 5;
    const clock = new MovedClock();
    const node = await openNode(context, { servers: [world.fake], dns: world.dns({ visibleMs: 0.5 }), clock });
    const edge = await node.edge('*.example.com');
    await untilManaged(node, '*.example.com', hasFailed);
    assert.equal(world.records.size, 1);
    await node.remove('https_edge', edge);
    await untilManaged(node, '*.example.com', ({ unwanted_since: since }) => since !== null);
    clock.advance(25 * 3_600_000);
    await context.waitFor(() => assert.equal(world.records.size, 0), { timeout: 30_000 });
  });

  test('fails with what the provider said, never with the token', async (context) => {
    const world = await openWorld(context);
    const error = { code: 10_000, message: 'Invalid token the-token-of-the-test' };
    world.api.first.push({ status: 403, body: { success: false, errors: [error] } });
    const node = await openNode(context, { servers: [world.fake], dns: world.dns() });
    await node.edge('*.example.com');
    const { job } = await untilManaged(node, '*.example.com', hasFailed);
    assert.equal(job?.error_code, 'ERR_POSTERN_ACME_DNS_PROVIDER');
    assert.match(
      job?.msg ?? '',
      /Cloudflare: cannot add the TXT record .*Invalid token \*{8} \(10000\)\. Check the token and its permissions/,
    );
    assert.doesNotMatch(node.log.join('\n'), /the-token-of-the-test/);
  });
});
