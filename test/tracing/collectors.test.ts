import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { get, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { after, suite, test } from 'node:test';
import { collectorAgent } from '../../src/proxy/tracing/open-tracing.ts';
import { deadAddress } from '../edge/traffic/recording-upstream.ts';
import { EdgeWorld } from '../support/edge-world.ts';
import { eventually } from '../tunnel/support/fault-world.ts';
import { Collector } from './collector.ts';

const openedAtMs = performance.now();
const collector = await Collector.open({ after });
const edges = await EdgeWorld.open({ after }, { POSTERN_OTEL_ENDPOINT: `${collector.url}/v1/traces` });
const { host } = await edges.site(await edges.httpResponse('hello'));

async function count(result: string): Promise<number> {
  const [, number] =
    new RegExp(`postern_otel_spans_total\\{result="${result}"\\} (\\d+)`).exec(await edges.metrics()) ?? [];
  return Number(number);
}

/** Sends a request whose span the collector answers like this; returns which count has grown. */
async function outcomeOf(answer: (response: ServerResponse) => void): Promise<string> {
  collector.answer = answer;
  const before = { sent: await count('sent'), failed: await count('failed') };
  assert.equal(await edges.status(host), 200);
  let grown = '';
  await eventually('an outcome', async () => {
    if ((await count('sent')) > before.sent) grown = 'sent';
    else if ((await count('failed')) > before.failed) grown = 'failed';
    return grown !== '';
  });
  return grown;
}

suite('a strange collector', () => {
  for (const [what, outcome, answer] of [
    ['answers with garbage', 'sent', (response) => response.end('\u0000<html>')],
    ['answers with JSON of another form', 'sent', (response) => response.end('{"partialSuccess":[[[]]]}')],
    ['refuses', 'failed', (response) => response.writeHead(401, 'secret-text').end('secret-text')],
    ['redirects', 'failed', (response) => response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end()],
    ['sends a huge body', 'failed', (response) => response.writeHead(400).end(Buffer.alloc(8_000_000, '[1,'))],
    ['breaks the connection', 'failed', (response) => response.socket?.destroy()],
    ['asks to retry in a year', 'failed', (response) => response.writeHead(503, { 'retry-after': '31536000' }).end()],
  ] as readonly (readonly [string, string, (response: ServerResponse) => void])[]) {
    test(`that ${what} gets its span counted as ${outcome}, and traffic goes on`, async () => {
      assert.equal(await outcomeOf(answer), outcome);
      assert.equal(await edges.status(host), 200);
    });
  }

  test('gets spans again once it works', async () => {
    const { headers } = await edges.ask(host);
    assert.equal(await outcomeOf((response) => response.end('{}')), 'sent');
    await collector.ofRequest(headers['postern-request-id']);
  });

  test('causes few warnings, which do not repeat its words', () => {
    const text = edges.world.logLines.join('\n');
    const warnings = text.split('\n').filter((line) => line.includes('failed to send spans'));
    // One in ten seconds, of each thread that sends.
    const threads = edges.world.server.workers?.all().length ?? 1;
    const most = threads * (1 + Math.floor((performance.now() - openedAtMs) / 10_000));
    assert.ok(warnings.length >= 1 && warnings.length <= most, warnings.join('\n'));
    assert.match(warnings[0] ?? '', /HTTP status 401/);
    assert.ok(!text.includes('secret-text'));
  });
});

suite('the connection to a collector', () => {
  for (const [what, answer] of [
    ['never answers', () => {}],
    [
      'sends one byte after the other without an end',
      (response) => {
        const timer = setInterval(() => response.write('x'), 5);
        response.once('close', () => clearInterval(timer));
      },
    ],
    ['sends more than 64 KiB', (response) => response.end(Buffer.alloc(70_000))],
  ] as readonly (readonly [string, (response: ServerResponse) => void])[]) {
    test(`ends when the collector ${what}`, async (t) => {
      const strange = await Collector.open(t);
      strange.answer = answer;
      // The body has to be JSON for the collector, which ignores the method.
      const sent = get(strange.url, { agent: collectorAgent('http:', 100) });
      sent.on('error', () => {});
      sent.on('response', (response) => response.on('error', () => {}).resume());
      sent.end();
      await new Promise((resolve) => sent.once('close', resolve));
      assert.equal(sent.destroyed, true);
    });
  }
});

test('the socket to a collector keeps the properties of any other socket', async (t) => {
  const other = connect(collector.port, '127.0.0.1');
  t.after(() => other.destroy());
  collector.answer = (response) => response.end('{}');
  const opened: object[] = [];
  const note = (message: unknown): void => void opened.push((message as { readonly socket: object }).socket);
  subscribe('net.client.socket', note);
  const sent = get(collector.url, { agent: collectorAgent('http:') });
  sent.setTimeout(1_000);
  unsubscribe('net.client.socket', note);
  sent.on('response', (response) => response.resume());
  await new Promise((resolve) => sent.once('close', resolve));
  const [socket = assert.fail()] = opened;
  assert.deepEqual(Reflect.ownKeys(socket), Reflect.ownKeys(other));
});

test('an exception after the time limit of a collector ends its connection alone', async () => {
  collector.answer = () => {};
  const sent = get(collector.url, { agent: collectorAgent('http:') });
  sent.setTimeout(20, () => {
    throw new Error('a bug of the exporter');
  });
  sent.on('error', () => {});
  await new Promise((resolve) => sent.once('close', resolve));
});

test('a server stops within its limit while nothing listens at the endpoint', async (t) => {
  const tasks: (() => Promise<void>)[] = [];
  const alone = await EdgeWorld.open(
    { after: (task) => void tasks.push(task) },
    { POSTERN_OTEL_ENDPOINT: `http://${await deadAddress()}` },
  );
  t.after(() => Promise.all(tasks.map((task) => task())));
  const site = await alone.site(await alone.httpResponse('hello'));
  assert.equal(await alone.status(site.host), 200);
  const began = performance.now();
  for (const task of tasks.splice(0)) await task();
  assert.ok(performance.now() - began < 20_000);
});
