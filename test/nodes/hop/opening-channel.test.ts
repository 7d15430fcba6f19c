import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { request as requestHttps } from 'node:https';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { finished } from 'node:stream/promises';
import { after, afterEach, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { recordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import { Cluster, until } from '../../support/cluster.ts';
import { tempDir } from '../../support/temp-dir.ts';

const FAULTS = fileURLToPath(new URL('../../support/channel-faults.mjs', import.meta.url));

/** Two real processes: visitors at the second, agents at the first, which can hold and break its channels. */
const faults = join(await tempDir({ after }), 'channel');
const upstream = await recordingUpstream({ after });
const cluster = await Cluster.open(
  { after },
  {
    nodes: 2,
    envOf: (at) => (at === 0 ? { NODE_OPTIONS: `--import=${FAULTS}`, CHANNEL_FAULTS: faults } : {}),
  },
);
const edge = cluster.node(1);
const hosts = await openHosts();

async function openHosts(): Promise<ReadonlyMap<string, string>> {
  const { first } = cluster;
  const labels = { app: 'held' };
  const { id } = await first.api('POST', '/backends/tunnel_group', { labels });
  const site = await first.site(id);
  const addr = upstream.address;
  const agent = await cluster.agent(
    [
      { addr, proto: 'https' },
      { addr, labels },
    ],
    { at: [first], connections: 1 },
  );
  await cluster.visible(agent);
  return new Map([
    ['an https tunnel', new URL(agent.publicUrl ?? '').hostname],
    ['a tunnel group', site.host],
  ]);
}

interface Asked {
  readonly status: number;
  readonly text: string;
}

interface Visitor {
  readonly ask: (host: string, method: string, body?: string) => Promise<Asked>;
  /** The body of a response whose head has arrived. */
  readonly responseBody: (host: string) => Promise<Readable>;
}

const visitors: ReadonlyMap<string, Visitor> = new Map<string, Visitor>([
  [
    'HTTP/1.1',
    {
      ask: (host, method, body) => edge.ask(host, '/', { method, ...(body !== undefined && { body }) }),
      responseBody: async (host) => {
        const sent = requestHttps({ agent: false, ...edge.tlsOptions(host), path: '/', headers: { host } }).end();
        const [response] = await once(sent, 'response');
        return response;
      },
    },
  ],
  [
    'HTTP/2',
    {
      ask: async (host, method, body) => {
        const session = await edge.http2(host);
        const stream = session.request({ ':path': '/', ':method': method }, { endStream: body === undefined });
        if (body !== undefined) stream.end(body);
        const response = once(stream, 'response');
        const [received] = await Promise.all([text(stream), response]);
        const [head] = await response;
        session.close();
        return { status: Number(head[':status']), text: received };
      },
      responseBody: async (host) => {
        const session = await edge.http2(host);
        const stream = session.request({ ':path': '/' });
        stream.once('close', () => session.close());
        await once(stream, 'response');
        return stream;
      },
    },
  ],
]);

const ways = [...hosts].flatMap(([tunnel, host]) =>
  [...visitors].map(([version, visitor]) => ({ name: `${version} to ${tunnel}`, host, ...visitor })),
);

/** The link to the other node breaks. It is dialled again, pings are answered, and the channel is not. */
async function holdChannel(): Promise<void> {
  writeFileSync(`${faults}.hold`, '');
  writeFileSync(`${faults}.break`, '');
  await until('the channel waits', () => existsSync(`${faults}.held`));
}

function openChannel(): void {
  for (const name of ['hold', 'held']) rmSync(`${faults}.${name}`, { force: true });
}

async function serves(): Promise<void> {
  for (const { name, host, ask } of ways) {
    await until(`${name} is served`, async () => (await ask(host, 'GET')).status === 200);
  }
}

suite('a request while the channel to the node with the agent is not open', () => {
  afterEach(async () => {
    upstream.answer = null;
    openChannel();
    await serves();
    upstream.forget();
  });

  test('waits for it, and is sent once', async () => {
    await holdChannel();
    const asked = ways.flatMap(({ name, host, ask }) => [
      ask(host, 'GET').then(({ status }) => `${name} GET ${status}`),
      ask(host, 'POST', 'a body').then(({ status }) => `${name} POST ${status}`),
    ]);
    await sleep(300);
    assert.equal(upstream.seen.length, 0, 'nothing has been sent');
    openChannel();
    assert.deepEqual(
      await Promise.all(asked),
      ways.flatMap(({ name }) => [`${name} GET 200`, `${name} POST 200`]),
    );
    assert.equal(upstream.seen.length, asked.length);
  });

  test('gets the error of a node without links when it stays closed', async () => {
    await holdChannel();
    const answers = await Promise.all(ways.map(({ host, ask }) => ask(host, 'POST', 'a body')));
    for (const [at, { status, text: page }] of answers.entries()) {
      assert.equal(status, 503, String(ways[at]?.name));
      assert.match(page, /ERR_POSTERN_NO_TUNNEL/);
    }
    assert.equal(upstream.seen.length, 0);
  });
});

suite('a channel that breaks during a request', () => {
  afterEach(async () => {
    upstream.answer = null;
    await serves();
    upstream.forget();
  });

  for (const { name, host, ask, responseBody } of ways) {
    test(`${name}: requests in progress fail, are sent once, and responses are cut`, async () => {
      const waiting: ServerResponse[] = [];
      upstream.answer = (request, response) => {
        request.resume();
        waiting.push(response);
      };
      const asked = [ask(host, 'GET'), ask(host, 'POST', 'a body')];
      await until('both are in progress', () => waiting.length === 2);
      upstream.answer = (_request, response) => {
        response.writeHead(200, { 'content-length': '100' });
        response.write('a part');
        waiting.push(response);
      };
      const body = await responseBody(host);
      const cut = assert.rejects(finished(body.resume()));
      assert.equal(waiting.length, 3);
      writeFileSync(`${faults}.break`, '');
      // No other node has a connection of the agent.
      for (const answer of asked) assert.equal((await answer).status, 502);
      await cut;
      assert.equal(waiting.length, 3);
    });
  }
});
