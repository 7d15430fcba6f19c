import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { suite, type TestContext, test } from 'node:test';
import type { AlertFacts, AlertLimits } from '../../src/control/findings/alert-kind.ts';
import { AlertWatch } from '../../src/control/findings/alert-watch.ts';
import type { JsonObject } from '../../src/kit/json.ts';
import { createKsuidSource } from '../../src/kit/text/ksuid.ts';
import { Replica } from '../../src/store/replica/replica.ts';
import type { Store } from '../../src/store/store.ts';
import { deadAddress } from '../cli/doctor-world.ts';
import { operatorEnv, runCommand } from '../cli/run-command.ts';
import { makeCertificate } from '../conformance/certificates.ts';
import { destinationPut, subscriptionPut } from '../store/conformance/lane-world.ts';
import { committed, put } from '../store/conformance/store-under-test.ts';
import { ENGINES, emptyLocation, openAt, usePostgres } from '../store/engines.ts';
import { until } from '../support/cluster.ts';
import { TestWorld } from '../support/test-world.ts';
import { TunnelWorld } from '../support/tunnel-world.ts';

usePostgres();

const OFF: AlertLimits = {
  ...{ agentAwayMs: 0, backendFailingMs: 0, certificateDays: 0, ofModules: new Map() },
  ...{ deliveryStuckMs: 0, descriptorPercent: 0, diskPercent: 0, nodeLostMs: 0 },
};
const NOW = Date.parse('2026-11-01T00:00:00Z');
const DAY_MS = 86_400_000;

type Agent = { credentialId: string; metadata: string };

/** The world around a watch, as a test changes it. */
class Surroundings {
  nowMs = NOW;
  node = 'one';
  isFirst = true;
  agents: { credentialId: string; metadata: string }[] = [];
  farewells: Agent[] = [];
  nodes: { name: string; status: 'ready' | 'lost'; lastSeenAtMs: number }[] = [];
  lanes: Awaited<ReturnType<AlertFacts['lanes']>> = [];
  disk = 0;
  descriptors = { open: 0, limit: 1_000, isScarce: false };
  traffic: ReturnType<AlertFacts['backendTraffic']> = [];
  circuits: readonly string[] = [];
}

async function open(t: TestContext, store: Store, around: Surroundings, limits: Partial<AlertLimits>) {
  const replica = await Replica.open(store);
  const ksuid = createKsuidSource();
  const problems: unknown[] = [];
  const watch = new AlertWatch({
    store,
    replica,
    clock: { nowMs: () => around.nowMs },
    limits: { ...OFF, ...limits },
    node: around.node,
    isLooking: () => around.isFirst,
    sources: {
      resource: (id) => replica.get('backend', id),
      nodes: () => around.nodes,
      agents: async () => around.agents,
      farewells: async () => around.farewells,
      lanes: async () => around.lanes,
      descriptors: () => around.descriptors,
      diskPercent: async () => around.disk,
      backendTraffic: () => around.traffic,
      routesIn: (code) => (code === 'circuit_open' ? around.circuits : []),
    },
    newId: (prefix) => `${prefix}_${ksuid(around.nowMs)}`,
    ref: (id) => ({ id, uri: `/alerts/${id}` }),
    onProblem: (error) => problems.push(error),
    everyMs: 2 ** 30,
  });
  t.after(async () => {
    await watch.close();
    replica.close();
    assert.deepEqual(problems, []);
  });
  const titles = (): string[] => [...replica.all('alert')].map(({ doc }) => doc['title'] as string);
  const after = async (ms: number): Promise<string[]> => {
    around.nowMs += ms;
    await watch.look();
    return titles();
  };
  return { watch, after, replica };
}

/** What subscribers heard: `raised` and `resolved` with the title. */
async function heard(store: Store): Promise<string[]> {
  const events = await store.events.list({ beforeId: null, limit: 1_000 });
  return events
    .map(({ type, payload }) => `${type.slice(6, -3)} ${(payload['object'] as { title: string }).title}`)
    .reverse();
}

async function subscribed(t: TestContext, engine: (typeof ENGINES)[number]) {
  const location = await emptyLocation(t, engine);
  const store = await openAt(location);
  await committed(store, {
    puts: [
      destinationPut('ed_1'),
      subscriptionPut('esb_1', ['alert_raised.v0', 'alert_resolved.v0'], ['ed_1']),
      put('credential', 'cr_1'),
      put('backend', 'bkd_1'),
    ],
  });
  return { location, store };
}

for (const engine of ENGINES) {
  suite(`alerts on ${engine}`, () => {
    test('are raised once by several nodes, survive a restart, and are resolved once', async (t) => {
      const { location, store } = await subscribed(t, engine);
      const around = new Surroundings();
      around.agents = [{ credentialId: 'cr_1', metadata: 'build machine' }];
      const limits = { agentAwayMs: 60_000 };
      const one = await open(t, store, around, limits);
      const other = await open(t, engine === 'postgres' ? await openAt(location) : store, around, limits);
      const both = async (ms: number) => {
        around.nowMs += ms;
        await Promise.all([one.watch.look(), other.watch.look()]);
        return heard(store);
      };
      assert.deepEqual(await both(0), []);
      around.agents = [];
      assert.deepEqual(await both(1_000), []);
      assert.deepEqual(await both(59_000), []);
      const raised = 'raised the agent "build machine" of credential cr_1 is away';
      assert.deepEqual(await both(1_000), [raised]);
      assert.deepEqual(await both(60_000), [raised]);
      // Another process, which has never seen the agent.
      const restarted = await open(t, store, around, limits);
      assert.equal((await restarted.after(60_000)).length, 1);
      assert.deepEqual(await heard(store), [raised]);
      around.agents = [{ credentialId: 'cr_1', metadata: 'build machine' }];
      await restarted.after(1_000);
      assert.deepEqual(await restarted.after(10_000), []);
      assert.deepEqual(await both(10_000), [raised, raised.replace('raised', 'resolved')]);
    });

    test('of a node that is gone are resolved by the others', async (t) => {
      const { store } = await subscribed(t, engine);
      const around = new Surroundings();
      around.disk = 95;
      around.nodes = [{ name: 'one', status: 'ready', lastSeenAtMs: NOW }];
      const one = await open(t, store, around, { diskPercent: 90 });
      await one.after(0);
      assert.equal((await one.after(30_000)).length, 1);
      const elsewhere = Object.assign(new Surroundings(), { node: 'two', nodes: around.nodes, nowMs: around.nowMs });
      const two = await open(t, store, elsewhere, { diskPercent: 90 });
      assert.equal((await two.after(120_000)).length, 1);
      elsewhere.nodes = [{ name: 'two', status: 'ready', lastSeenAtMs: NOW }];
      assert.deepEqual(await two.after(0), []);
    });
  });
}

suite('kinds of alerts', () => {
  const limits = {
    ...{ agentAwayMs: 60_000, backendFailingMs: 60_000, certificateDays: 14 },
    ...{ deliveryStuckMs: 60_000, diskPercent: 90, nodeLostMs: 30_000 },
  };

  test('do not flap, and are turned off by 0', async (t) => {
    const { store } = await subscribed(t, 'sqlite');
    const around = new Surroundings();
    const { after } = await open(t, store, around, { diskPercent: 90 });
    for (const percent of [95, 80, 95, 89, 95, 80]) {
      around.disk = percent;
      assert.deepEqual(await after(20_000), [], `${percent}`);
    }
    around.disk = 91;
    await after(0);
    assert.deepEqual(await after(30_000), ['the disk of node one is 91 % full']);
    for (const percent of [89, 86, 90, 85]) {
      around.disk = percent;
      assert.equal((await after(60_000)).length, 1, `${percent}`);
    }
    around.disk = 84;
    await after(0);
    assert.deepEqual(await after(60_000), []);
    around.disk = 99;
    around.nodes = [{ name: 'gone', status: 'lost', lastSeenAtMs: 0 }];
    const off = await open(t, store, around, {});
    await off.after(0);
    assert.deepEqual(await off.after(60_000), []);
  });

  test('report file descriptors that run out at once, and before connections are refused', async (t) => {
    const { store } = await subscribed(t, 'sqlite');
    const around = new Surroundings();
    const { after } = await open(t, store, around, { descriptorPercent: 80 });
    const titleOf = (open: number): string =>
      `node one has ${open} of 1000 file descriptors open: raise LimitNOFILE= or ulimit -n`;
    const seen = async (open: number, isScarce: boolean, ms = 0): Promise<string[]> => {
      around.descriptors = { open, limit: 1_000, isScarce };
      return after(ms);
    };
    assert.deepEqual(await seen(799, false), []);
    assert.deepEqual(await seen(800, false), [titleOf(800)]);
    assert.deepEqual(await seen(760, false, 60_000), [titleOf(800)], 'too close to the limit to end it');
    await seen(700, false);
    assert.deepEqual(await seen(700, false, 60_000), []);
    assert.deepEqual(await seen(300, true), [titleOf(300)], 'one was refused a moment ago');
    assert.deepEqual(await seen(300, true, 60_000), [titleOf(300)]);
    around.descriptors = { open: 5_000, limit: Number.POSITIVE_INFINITY, isScarce: false };
    await after(0);
    assert.deepEqual(await after(60_000), [], 'a limit that is not known is never reached');
  });

  test('an open circuit is named by its host and path, and its alert ends at once with it', async (t) => {
    const { store } = await subscribed(t, 'sqlite');
    await committed(store, {
      puts: [
        put('https_edge', 'edghts_1', { doc: { hostports: ['shop.example.com:443'] } }),
        put('https_edge_route', 'edghtsrt_1', { parent: 'edghts_1', doc: { match: '/api' } }),
      ],
    });
    const around = new Surroundings();
    const { after } = await open(t, store, around, { ofModules: new Map([['circuit_open', 30_000]]) });
    around.circuits = ['edghtsrt_1'];
    assert.deepEqual(await after(0), []);
    const title = 'the circuit of shop.example.com/api (edghtsrt_1) is open on one: its backend fails';
    assert.deepEqual(await after(30_000), [title]);
    around.circuits = [];
    assert.deepEqual(await after(0), []);
  });

  test('tell what is wrong with what', async (t) => {
    const { store } = await subscribed(t, 'sqlite');
    const certificate = (hostname: string, days: number, job: JsonObject | null = null) =>
      put('managed_certificate', hostname, {
        doc: { hostname, job, unwanted_since: null, not_after: new Date(NOW + days * DAY_MS).toISOString() },
      });
    const failed = { error_code: 'ERR_POSTERN_ACME_REJECTED', attempts: 2 };
    await committed(store, {
      puts: [
        certificate('soon.example.com', 13),
        certificate('later.example.com', 15),
        certificate('refused.example.com', 60, failed),
        certificate('once.example.com', 60, { ...failed, attempts: 1 }),
        put('tls_certificate', 'cert_1', { doc: { description: 'old', not_after: '2026-10-31T00:00:00Z' } }),
      ],
    });
    const around = new Surroundings();
    const ledger = { ...{ enqueued: 1, delivered: 0, dead: 0, cancelled: 0, pruned: 0, failingSinceMs: null } };
    const lane = (destinationId: string, isHeld: boolean, ageMs: number) => ({
      ...{ ...ledger, subscriptionId: 'esb_1', destinationId, pending: 1, isHeld, oldestPendingMs: NOW - ageMs },
    });
    around.lanes = [lane('ed_1', false, 61_000), lane('ed_2', true, 61_000), lane('ed_3', false, 0)];
    around.nodes = [
      { name: 'one', status: 'ready', lastSeenAtMs: NOW },
      { name: 'gone', status: 'lost', lastSeenAtMs: NOW - 30_000 },
      { name: 'one', status: 'lost', lastSeenAtMs: NOW - 60_000 },
      { name: 'blinking', status: 'lost', lastSeenAtMs: NOW - 29_000 },
    ];
    around.traffic = [{ backendId: 'bkd_1', failed: 3, succeeded: 1 }];
    const { after } = await open(t, store, around, limits);
    assert.deepEqual((await after(0)).sort(), [
      'no certificate for refused.example.com: ERR_POSTERN_ACME_REJECTED',
      'the certificate "old" cert_1 expired at 2026-10-31T00:00:00Z',
      'the certificate for soon.example.com expires at 2026-11-14T00:00:00.000Z',
      'the event destination ed_1 accepts no events',
      'the node gone is lost',
    ]);
    const isFailing = (titles: readonly string[]): boolean => titles.includes('the backend bkd_1 fails');
    around.traffic = [];
    assert.equal(isFailing(await after(60_000)), false, 'no request showed it');
    around.traffic = [{ backendId: 'bkd_1', failed: 1, succeeded: 0 }];
    assert.equal(isFailing(await after(1_000)), true);
    around.traffic = [];
    assert.equal(isFailing(await after(600_000)), true, 'no request showed that it works');
    around.traffic = [{ backendId: 'bkd_1', failed: 0, succeeded: 5 }];
    await after(0);
    assert.equal(isFailing(await after(30_000)), false);
  });
});

suite('alerts end with their cause', () => {
  test('an agent that was stopped on purpose is none', async (t) => {
    const { store } = await subscribed(t, 'sqlite');
    const around = new Surroundings();
    const [one, two] = ['one', 'two'].map((metadata) => ({ credentialId: 'cr_1', metadata })) as [Agent, Agent];
    around.agents = [one, two];
    const { after } = await open(t, store, around, { agentAwayMs: 60_000 });
    await after(0);
    around.agents = [];
    around.farewells = [one];
    await after(1_000);
    around.farewells = [];
    assert.deepEqual(await after(60_000), ['the agent "two" of credential cr_1 is away']);
  });

  test('a backend that was changed, or that no request has missed for ten minutes, is none', async (t) => {
    const { store } = await subscribed(t, 'sqlite');
    const around = new Surroundings();
    const { after, replica } = await open(t, store, around, { backendFailingMs: 60_000 });
    const fail = async (): Promise<string[]> => {
      around.traffic = [{ backendId: 'bkd_1', failed: 1, succeeded: 0 }];
      await after(0);
      const titles = await after(60_000);
      around.traffic = [];
      return titles;
    };
    assert.equal((await fail()).length, 1);
    assert.equal((await after(599_000)).length, 1);
    await after(1_000);
    assert.deepEqual(await after(30_000), []);
    assert.equal((await fail()).length, 1);
    await committed(store, { puts: [put('backend', 'bkd_1', { doc: { address: '127.0.0.1:81' } })] });
    await replica.refresh();
    await after(1_000);
    assert.deepEqual(await after(30_000), []);
    assert.deepEqual(await fail(), ['the backend "127.0.0.1:81" (bkd_1) fails']);
  });
});

test('an agent that is closed says farewell, for every node to see', async (t) => {
  const world = await TunnelWorld.open(t);
  const agent = await world.agent([], { metadata: 'build machine' });
  const store = new DatabaseSync(join(world.edge.world.dataDir, 'postern.sqlite'), { readOnly: true });
  t.after(() => store.close());
  const farewells = () => store.prepare("SELECT doc FROM leases WHERE kind = 'farewell'").all();
  assert.deepEqual(farewells(), []);
  await agent.close();
  await until('the farewell is listed', () => farewells().length === 1);
  assert.match(String(farewells()[0]?.['doc']), /build machine/);
});

test('every list has an alert with what to do, until somebody dismisses it', async (t) => {
  const env = { POSTERN_ROLES: 'api,events', POSTERN_ALERT_DELIVERY_STUCK: '1' };
  const world = await TestWorld.open(t, { env: { ...env, POSTERN_EVENTS_ALLOW_CIDRS: '127.0.0.0/8' } });
  const target = { webhook: { url: `http://${await deadAddress()}/` } };
  const { body: destination } = await world.api('POST', '/event_destinations', { target });
  const sources = [{ type: 'event_destination_updated.v0' }];
  await world.api('POST', '/event_subscriptions', { destination_ids: [destination.id], sources });
  await world.api('PATCH', `/event_destinations/${destination.id}`, { description: 'chat' });
  const alerts = async () => (await world.api('GET', '/alerts')).body.alerts;
  await until('the alert is raised', async () => (await alerts()).length > 0);
  const [alert] = await alerts();
  const problems = async () =>
    (await world.api('GET', '/problems')).body.problems.map(({ object }: { object: { id: string } }) => object.id);
  assert.deepEqual([alert.status, alert.dismissed_at], ['raised', null]);
  assert.match(alert.advice, /^check the destination: postern api event-destinations test ID/);
  assert.deepEqual(await problems(), [alert.id]);
  const operator = { env: operatorEnv(world) };
  const status = await runCommand(['status'], operator);
  assert.match(status.stdout, /^problem: the event destination "chat" accepts no events\n {2}check the destination/m);
  assert.equal(status.code, 1);
  const dismissed = await runCommand(['alerts', 'dismiss', alert.id], operator);
  assert.equal(dismissed.code, 0, dismissed.stderr);
  assert.equal((await alerts())[0].status, 'dismissed');
  assert.deepEqual(await problems(), []);
  assert.match((await runCommand(['status'], operator)).stdout, /^Problems +none$/m);
});

test('a server raises an alert, shows it, and sends it to a chat', async (t) => {
  const received: string[] = [];
  const chat = createServer((request, response) => {
    request.setEncoding('utf8').on('data', (text: string) => received.push(text));
    request.on('end', () => response.end('ok'));
  }).listen(0, '127.0.0.1');
  t.after(() => chat.close());
  await once(chat, 'listening');
  const url = `http://127.0.0.1:${(chat.address() as { port: number }).port}/services/x`;
  const env = { POSTERN_ROLES: 'api,events', POSTERN_EVENTS_ALLOW_CIDRS: '127.0.0.0/8' };
  const world = await TestWorld.open(t, { env: { ...env, POSTERN_ALERT_CERTIFICATE_DAYS: '14' } });
  const target = { webhook: { url } };
  const { body: destination } = await world.api('POST', '/event_destinations', { format: 'slack', target });
  const sources = [{ type: 'alert_raised.v0' }, { type: 'alert_resolved.v0' }];
  await world.api('POST', '/event_subscriptions', { destination_ids: [destination.id], sources });
  const { certificatePem, keyPem } = await makeCertificate({ commonName: 'x', dnsNames: ['x.example.com'] });
  const certificate = await world.api('POST', '/tls_certificates', {
    ...{ certificate_pem: certificatePem, private_key_pem: keyPem, description: '<!channel>' },
  });
  assert.equal(certificate.status, 201, certificate.text);
  await until('the chat gets the alert', () => received.length > 0);
  assert.match(received[0] ?? '', /"text":"Alert: the certificate \\"&lt;!channel&gt;\\" cert_\w+ expires at /);
  const { alerts } = (await world.api('GET', '/alerts')).body;
  assert.equal(alerts.length, 1);
  assert.deepEqual([alerts[0].kind, alerts[0].status], ['certificate_expiring', 'raised']);
  assert.deepEqual((await world.api('GET', alerts[0].uri)).body, alerts[0]);
  const shown = await runCommand(['alerts'], { env: operatorEnv(world) });
  assert.match(shown.stdout, /certificate_expiring/);
  await world.api('DELETE', `/tls_certificates/${certificate.body.id}`);
  await until('the chat hears of the end', () => received.length > 1);
  assert.match(received[1] ?? '', /"text":"Resolved: /);
  assert.deepEqual((await world.api('GET', '/alerts')).body.alerts, []);
});
