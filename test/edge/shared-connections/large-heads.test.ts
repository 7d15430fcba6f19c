// Process of test CAs: the list of trusted CAs is read once per process.
import assert from 'node:assert/strict';
import type { ClientHttp2Session, IncomingHttpHeaders } from 'node:http2';
import { after, afterEach, suite, test } from 'node:test';
import type { AgentHandle } from '../../../src/tunnel/agent/index.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { eventually } from '../../tunnel/support/fault-world.ts';
import { UpstreamAuthority } from '../settings/upstream-authority.ts';
import { type AnswerSpec, http1Service, http2Service, pathOf, type Service } from './large-answers.ts';

interface Case {
  readonly name: string;
  readonly spec: AnswerSpec;
  /** Status, or `cut` for a response that is reset after its head. */
  readonly outcome: 200 | 502 | 'cut';
}

/** What one response may do to the connections that it shares with others: decision 0048 has the table. */
const CASES: readonly Case[] = [
  { name: 'a head of 70,000 bytes', spec: { head: [35_000, 35_000] }, outcome: 200 },
  { name: 'a head of 120,000 bytes', spec: { head: [60_000, 60_000] }, outcome: 200 },
  { name: 'a head of 140,000 bytes', spec: { head: [60_000, 60_000, 20_000] }, outcome: 502 },
  { name: '600 fields', spec: { head: Array.from({ length: 600 }, () => 1) }, outcome: 502 },
  { name: 'trailers of 70,000 bytes', spec: { trailers: [35_000, 35_000] }, outcome: 200 },
  { name: 'trailers of 140,000 bytes', spec: { trailers: [60_000, 60_000, 20_000] }, outcome: 'cut' },
  { name: 'an informational response of 70,000 bytes', spec: { hints: [35_000, 35_000] }, outcome: 200 },
  { name: '20 informational responses', spec: { hints: [10], hintCount: 20 }, outcome: 200 },
  { name: '21 informational responses', spec: { hints: [10], hintCount: 21 }, outcome: 502 },
  { name: '5,000 informational responses', spec: { hints: [10], hintCount: 5_000 }, outcome: 502 },
  // The last ones end a session to an HTTP/2 upstream, whose requests are kept apart afterwards.
  { name: 'a head that needs 12 CONTINUATION frames', spec: { head: [60_000, 60_000, 60_000] }, outcome: 502 },
  { name: 'a field of 70,000 bytes', spec: { head: [70_000] }, outcome: 502 },
  { name: 'a trailer of 70,000 bytes', spec: { trailers: [70_000] }, outcome: 'cut' },
  { name: 'an informational response with a field of 70,000 bytes', spec: { hints: [70_000] }, outcome: 502 },
];

const authority = await UpstreamAuthority.trusted({ after });
const tls = await authority.issue();
const [one, two, far, farTwo] = [
  await http1Service({ after }),
  await http2Service({ after }, tls),
  await http1Service({ after }),
  await http2Service({ after }, null),
];
const world = await TunnelWorld.open({ after });
const { edge } = world;
const staticHost = async (address: string, hasTls: boolean): Promise<string> =>
  (await edge.site(await edge.staticBackend(address, hasTls))).host;
/** One connection: another one would hide its loss. */
const agent = await world.agent(
  [
    { proto: 'https', addr: `127.0.0.1:${far.port}` },
    { proto: 'https', addr: `h2c://127.0.0.1:${farTwo.port}` },
  ],
  { connections: 1 },
);
const [farUrl, farTwoUrl] = agent.tunnels.map(({ publicUrl: url }) => new URL(url ?? '').hostname);
const WAYS: readonly { readonly name: string; readonly host: string; readonly service: Service }[] = [
  { name: 'an HTTP/1.1 upstream', host: await staticHost(`127.0.0.1:${one.port}`, false), service: one },
  { name: 'an HTTP/2 upstream', host: await staticHost(`localhost:${two.port}`, true), service: two },
  { name: 'a tunnel to HTTP/1.1', host: farUrl ?? '', service: far },
  { name: 'a tunnel to HTTP/2', host: farTwoUrl ?? '', service: farTwo },
];

interface Outcome {
  readonly status: number;
  readonly body: string;
  readonly rstCode: number;
  readonly head: IncomingHttpHeaders;
}

function ask(session: ClientHttp2Session, path: string): Promise<Outcome> {
  const stream = session.request({ ':path': path });
  let head: IncomingHttpHeaders = {};
  let body = '';
  stream.on('response', (headers) => {
    head = headers;
  });
  stream.setEncoding('latin1').on('data', (text: string) => {
    body += text;
  });
  return new Promise((resolve) => {
    stream.on('error', () => {});
    stream.once('close', () => resolve({ status: Number(head[':status']), body, rstCode: stream.rstCode, head }));
  });
}

function lostConnections(handle: AgentHandle): string[] {
  const lost: string[] = [];
  handle.on('status', ({ status, reason }) => {
    if (status !== 'online' && status !== 'stopped') lost.push(`${status}: ${reason}`);
  });
  return lost;
}

const lost = lostConnections(agent);

for (const { name, host, service } of WAYS) {
  suite(`one exchange takes no other with it, through ${name}:`, () => {
    afterEach(() => service.release());

    for (const { name: what, spec, outcome } of CASES) {
      test(`${what} ${outcome === 200 ? 'passes' : 'fails alone'}`, async () => {
        const session = await edge.http2(host, { maxHeaderListPairs: 2_000 });
        let goaway = -1;
        session.on('goaway', (code) => {
          goaway = code;
        });
        const slow = ask(session, '/slow');
        await eventually('the slow request has arrived', () => service.slow === 1);
        const large = await ask(session, pathOf(spec));
        if (outcome === 'cut') {
          assert.equal(large.status, 200);
          assert.notEqual(large.rstCode, 0);
        } else assert.deepEqual([large.status, large.rstCode], [outcome, 0]);
        if (outcome === 502) assert.match(String(large.head['postern-error-code']), /^ERR_POSTERN_UPSTREAM_BROKEN$/);
        // A safe request on a lost connection to an upstream was sent again.
        await eventually('the slow request is there', () => service.slow >= 1);
        service.release();
        const { status, body } = await slow;
        assert.deepEqual([status, body], [200, 'slow']);
        assert.equal(goaway, -1, 'the visitor keeps the connection');
        assert.equal((await ask(session, pathOf({}))).status, 200);
        assert.deepEqual(lost, []);
        session.destroy();
      });
    }
  });
}
