import assert from 'node:assert/strict';
import type { ServerHttp2Stream } from 'node:http2';
import { Readable } from 'node:stream';
import { after, suite, test } from 'node:test';
import type { HeaderList } from '../../../src/kit/http/header-values.ts';
import { TunnelUpstream } from '../../../src/proxy/edge/tunnels/tunnel-upstream.ts';
import { DeadlineTicker } from '../../../src/proxy/upstream/deadline-ticker.ts';
import type { UpstreamRequest } from '../../../src/proxy/upstream/upstream.ts';
import { FLAG, FRAME, frame } from '../../support/http2-frames.ts';
import { eventually } from '../../tunnel/support/fault-world.ts';
import { Answer, ask, limits } from '../../upstream/ask.ts';
import { HopWorld } from './hop-world.ts';

const LIMITS = { ...limits, maxHeaderBytes: 131_072, maxHeaderCount: 500 };

function fields(...sizes: readonly number[]): Record<string, string> {
  return Object.fromEntries(sizes.map((bytes, at) => [`x-${at}`, '~'.repeat(bytes)]));
}

function list(...sizes: readonly number[]): HeaderList {
  return Object.entries(fields(...sizes)).flat();
}

interface Case {
  readonly name: string;
  /** The agent's answer. */
  readonly answer?: (stream: ServerHttp2Stream) => void;
  readonly request?: Partial<UpstreamRequest>;
  readonly passes: boolean;
}

function withTrailers(...sizes: readonly number[]): (stream: ServerHttp2Stream) => void {
  return (stream) => {
    stream.respond({ ':status': 200 }, { waitForTrailers: true });
    stream.on('wantTrailers', () => {
      if (!stream.destroyed) stream.sendTrailers(fields(...sizes));
    });
    stream.end('body');
  };
}

function withHints(count: number, ...sizes: readonly number[]): (stream: ServerHttp2Stream) => void {
  return (stream) => {
    for (let at = 0; at < count; at += 1) stream.additionalHeaders({ ':status': 103, ...fields(...sizes) });
    stream.respond({ ':status': 200 }, { endStream: true });
  };
}

function withHead(head: Readonly<Record<string, string | number>>): (stream: ServerHttp2Stream) => void {
  return (stream) => stream.respond({ ':status': 200, ...head }, { endStream: true });
}

function trailing(...sizes: readonly number[]): Partial<UpstreamRequest> {
  const source = Readable.from([Buffer.from('body')]);
  const trailers = (): HeaderList => list(...sizes);
  return {
    method: 'POST',
    body: { framing: 'chunked', source, expectsContinue: false, isWhole: () => true, trailers },
  };
}

const CASES: readonly Case[] = [
  { name: 'a head of 120,000 bytes', answer: withHead(fields(60_000, 60_000)), passes: true },
  { name: 'a head of 140,000 bytes', answer: withHead(fields(60_000, 60_000, 20_000)), passes: false },
  { name: '600 headers', answer: withHead(fields(...Array.from({ length: 600 }, () => 1))), passes: false },
  { name: 'trailers of 120,000 bytes', answer: withTrailers(60_000, 60_000), passes: true },
  { name: 'trailers of 140,000 bytes', answer: withTrailers(60_000, 60_000, 20_000), passes: false },
  { name: 'a hint of 120,000 bytes', answer: withHints(1, 60_000, 60_000), passes: true },
  { name: '20 hints', answer: withHints(20, 10), passes: true },
  { name: '21 hints', answer: withHints(21, 10), passes: false },
  { name: 'a request of 120,000 bytes', request: { headers: list(60_000, 60_000) }, passes: true },
  { name: 'a request of 140,000 bytes', request: { headers: list(60_000, 60_000, 20_000) }, passes: false },
  { name: 'a request with a header of 70,000 bytes', request: { headers: list(70_000) }, passes: false },
  {
    name: 'a request with 600 headers',
    request: { headers: list(...Array.from({ length: 600 }, () => 1)) },
    passes: false,
  },
  { name: 'request trailers of 120,000 bytes', request: trailing(60_000, 60_000), passes: true },
  { name: 'request trailers of 140,000 bytes', request: trailing(60_000, 60_000, 20_000), passes: false },
  { name: 'a request trailer of 70,000 bytes', request: trailing(70_000), passes: false },
];

suite('over a hop, other exchanges of the link and the agent survive', async () => {
  const world = await HopWorld.open({ after }, 1);
  const holder = world.holders[0];
  assert.ok(holder);
  const { agent, node } = holder;
  const upstream = new TunnelUpstream(world.tunnel(), LIMITS, new DeadlineTicker());

  test('the status 42 of a hostile agent fails alone', async () => {
    const link = world.linkTo(node);
    agent.handle = (stream) => {
      // A literal with the name of the static table (RFC 7541 §6.2.2): the runtime would not send it.
      const block = Buffer.concat([Buffer.from([0x08, 3]), Buffer.from('042')]);
      for (const socket of agent.sockets)
        socket.write(frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, stream.id ?? 0, block));
    };
    const { failure } = await ask(upstream);
    assert.equal(failure?.reason, 'malformed');
    assert.equal(world.linkTo(node), link, 'the link is the same');
  });

  for (const { name, answer, request = {}, passes } of CASES) {
    test(`${name} ${passes ? 'passes' : 'fails alone'}`, () => checkAlone(answer, request, passes));
  }

  // A WebSocket is a stream of its own.
  for (const { name, answer = withHead({}), request, passes } of CASES.filter(
    ({ name: each }) => !/trailer/.test(each),
  )) {
    test(`${name} of a WebSocket ${passes ? 'passes' : 'fails alone'}`, () =>
      checkAlone(answer, { ...request, switchTo: 'websocket' }, passes));
  }

  async function checkAlone(answer: Case['answer'], request: Partial<UpstreamRequest>, passes: boolean): Promise<void> {
    const link = world.linkTo(node);
    const waiting: ServerHttp2Stream[] = [];
    agent.handle = (stream, headers) => {
      if (headers[':path'] === '/slow') waiting.push(stream);
      else if (answer === undefined) agent.answer(stream, headers);
      else answer(stream);
    };
    const slow = ask(upstream, { target: '/slow' });
    await eventually('the slow request has arrived', () => waiting.length === 1);
    let failure: string | null = null;
    try {
      const asked = await ask(upstream, request, new Answer());
      asked.switched?.destroy();
      failure = asked.failure?.reason ?? null;
    } catch (error) {
      failure = String(error);
    }
    assert.equal(failure === null, passes, failure ?? 'it passed');
    waiting[0]?.respond({ ':status': 200 });
    waiting[0]?.end('slow');
    assert.equal((await slow).body, 'slow');
    assert.equal(world.linkTo(node), link, 'the link is the same');
    assert.equal(agent.sockets.size, 1);
  }
});
