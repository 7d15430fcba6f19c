import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { request as requestHttps } from 'node:https';
import { after, suite, test } from 'node:test';
import { EdgeWorld, type Site } from '../../support/edge-world.ts';
import { recordingUpstream } from '../traffic/recording-upstream.ts';
import { StoredRecords } from './stored-records.ts';

/** Open responses, not only WebSockets, end within a second of a change that now rejects them; others continue. */
const upstream = await recordingUpstream({ after });
const world = await EdgeWorld.open({ after });
const backend = await world.staticBackend(upstream.address);
const stored = new StoredRecords(world);
const WITHIN_MS = 1000;
const block = Buffer.alloc(64 * 1024, 'x');

/**
 * `/events`: an event on the test's command. `/download`: endlessly. `/upload`: accepts
 * everything.
 */
upstream.answer = (request, response) => {
  request.resume();
  const isDownload = request.url?.endsWith('/download') ?? false;
  response.writeHead(200, { 'content-type': isDownload ? 'application/octet-stream' : 'text/event-stream' });
  if (isDownload) pump(response);
  else {
    response.write('data: first\n\n');
    events.set(String(request.headers['x-name']), response);
  }
};
const events = new Map<string, ServerResponse>();

function pump(response: ServerResponse): void {
  if (response.destroyed) return;
  response.write(block);
  setTimeout(() => pump(response), 20);
}

class OpenAnswer {
  readonly name: string;
  /** Whether it ended as if complete. */
  readonly ended: Promise<'whole' | 'cut'>;
  #bytes = 0;
  #onBytes = (): void => {};

  constructor(name: string, body: NodeJS.ReadableStream) {
    this.name = name;
    body.on('data', (chunk: Buffer) => {
      this.#bytes += chunk.length;
      this.#onBytes();
    });
    this.ended = new Promise((resolve) => {
      body.on('end', () => resolve('whole')).on('error', () => resolve('cut'));
      body.on('close', () => resolve('cut')).on('aborted', () => resolve('cut'));
    });
  }

  /** More arrives than so far. */
  async goesOn(): Promise<boolean> {
    const before = this.#bytes;
    const more = new Promise<boolean>((resolve) => {
      this.#onBytes = () => this.#bytes > before && resolve(true);
    });
    events.get(this.name)?.write('data: more\n\n');
    return Promise.race([more, this.ended.then(() => false)]);
  }
}

let count = 0;

async function over1(host: string, path: string, method = 'GET'): Promise<OpenAnswer> {
  count += 1;
  const name = `h1-${count}`;
  const sent = requestHttps({
    ...world.tlsOptions(host),
    agent: false,
    path,
    method,
    headers: { host, 'x-name': name },
  });
  sent.on('error', () => {});
  if (method === 'POST') {
    const timer = setInterval(() => sent.write('x'), 50);
    sent.once('close', () => clearInterval(timer));
  } else sent.end();
  after(() => sent.destroy());
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  assert.equal(response.statusCode, 200);
  return new OpenAnswer(name, response);
}

async function over2(host: string, path: string): Promise<OpenAnswer> {
  count += 1;
  const name = `h2-${count}`;
  const session = await world.http2(host);
  const stream = session.request({ ':path': path, 'x-name': name });
  const [headers] = (await once(stream, 'response')) as [{ ':status': number }];
  assert.equal(headers[':status'], 200);
  const open = new OpenAnswer(name, stream);
  // A stream that is reset also emits 'end', after it has set the code.
  const ended = open.ended.then((how) => (stream.rstCode === 0 ? how : 'cut'));
  return Object.assign(open, { ended });
}

/** Events and downloads, plain and compressed, over both protocols, and an upload. */
async function openOn({ host }: Site, prefix = ''): Promise<readonly OpenAnswer[]> {
  const opened = await Promise.all([
    over1(host, `${prefix}/events`),
    over1(host, `${prefix}/download`),
    over1(host, `${prefix}/upload`, 'POST'),
    over2(host, `${prefix}/events`),
    over2(host, `${prefix}/download`),
  ]);
  for (const one of opened) assert.ok(await one.goesOn(), one.name);
  return opened;
}

async function assertCut(opened: readonly OpenAnswer[]): Promise<void> {
  const late = new Promise<string>((resolve) => setTimeout(() => resolve('still open'), WITHIN_MS).unref());
  const how = await Promise.all(opened.map((one) => Promise.race([one.ended, late])));
  assert.deepEqual(
    how,
    opened.map(() => 'cut'),
  );
}

async function assertGoOn(opened: readonly OpenAnswer[]): Promise<void> {
  for (const one of opened) assert.ok(await one.goesOn(), `${one.name} was cut`);
}

const CHANGES: readonly (readonly [string, (site: Site) => Promise<unknown>, RegExp])[] = [
  ['the route is deleted', (site) => world.api('DELETE', site.routePath), /module="cut",reason="configuration"/],
  ['the edge is deleted', (site) => world.api('DELETE', site.edgePath), /module="cut",reason="configuration"/],
  [
    'the address is no longer allowed',
    async (site) => {
      const { policyId } = await world.ipPolicy('deny', '127.0.0.1/32');
      await world.api('PUT', `${site.routePath}/ip_restriction`, { ip_policy_ids: [policyId] });
    },
    /module="cut",reason="ip_restriction"/,
  ],
  [
    'a module can no longer be prepared',
    (site) => stored.putRouteModule(site, 'ip_restriction', { enabled: true, ip_policy_ids: 'no list' }),
    /module="cut",reason="configuration"/,
  ],
];

/** Requests that outlive their route or edge are counted without its name. */
async function cuts({ routeId }: Site, counted: RegExp): Promise<number> {
  const lines = (await world.metrics()).split('\n').filter((line) => line.startsWith('postern_edge_refused_total'));
  const own = lines.filter(
    (line) => counted.test(line) && (line.includes(`"${routeId}"`) || line.includes('route=""')),
  );
  return own.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

suite('events, downloads and uploads in progress', () => {
  for (const [what, change, counted] of CHANGES) {
    test(`are cut when ${what}, and those of other hosts and routes are not`, async () => {
      const [site, other] = [await world.site(backend), await world.site(backend)];
      const free = await world.route(site.edgeId, '/free');
      await world.api('PUT', `${free}/backend`, { backend_id: backend });
      const here = await openOn(site);
      const elsewhere = await openOn(other);
      const onFree = what === 'the edge is deleted' ? [] : await openOn(site, '/free');
      const before = await cuts(site, counted);
      await change(site);
      await assertCut(here);
      await assertGoOn([...elsewhere, ...onFree]);
      assert.equal((await cuts(site, counted)) - before, here.length);
      for (const one of [...elsewhere, ...onFree]) events.get(one.name)?.end();
    });
  }

  test('continue when a change rejects nobody', async () => {
    const site = await world.site(backend);
    const here = await openOn(site);
    const { policyId } = await world.ipPolicy('allow', '127.0.0.0/8');
    await world.api('PUT', `${site.routePath}/ip_restriction`, { ip_policy_ids: [policyId] });
    await world.api('PUT', `${site.routePath}/compression`, {});
    await world.api('PUT', `${site.routePath}/backend`, { backend_id: await world.httpResponse('something else') });
    await assertGoOn(here);
    assert.equal((await world.ask(site.host)).text, 'something else');
  });
});
