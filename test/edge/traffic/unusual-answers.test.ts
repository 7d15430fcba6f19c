// Process of test CAs: the list of trusted CAs is read once per process.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as requestHttps } from 'node:https';
import { after, suite, test } from 'node:test';
import {
  SCRIPTED_BODY,
  type ScriptedAnswer,
  type ScriptedService,
  scriptedService,
} from '../../support/scripted-service.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { UpstreamAuthority } from '../settings/upstream-authority.ts';

/**
 * Responses that HTTP allows and the runtime refuses to send: each ended the server, or the agent, for all of its
 * visitors.
 */
const authority = await UpstreamAuthority.trusted({ after });
const world = await TunnelWorld.open({ after });
const { edge } = world;

interface SeenAnswer {
  readonly status: number;
  readonly fields: readonly string[];
  readonly informational: readonly string[];
  readonly trailers: readonly string[];
  readonly body: string;
}

type Ask = (host: string) => Promise<SeenAnswer>;

const clients: Readonly<Record<string, Ask>> = {
  'HTTP/1.1': async (host) => {
    const options = { agent: false, ...edge.tlsOptions(host), path: '/', headers: { host, te: 'trailers' } };
    const request = requestHttps(options as object);
    let informational: readonly string[] = [];
    request.on('information', ({ rawHeaders }) => {
      informational = rawHeaders;
    });
    request.end();
    const [response] = await once(request, 'response');
    let body = '';
    for await (const chunk of response) body += chunk;
    return {
      status: response.statusCode,
      fields: response.rawHeaders,
      informational,
      trailers: response.rawTrailers,
      body,
    };
  },
  'HTTP/2': async (host) => {
    const session = await edge.http2(host);
    const stream = session.request({ ':path': '/', te: 'trailers' });
    let informational: readonly string[] = [];
    let trailers: readonly string[] = [];
    stream.on('headers', (_headers, _flags, raw) => {
      informational = raw.slice(2);
    });
    stream.on('trailers', (_headers, _flags, raw) => {
      trailers = raw;
    });
    const [headers, , raw] = await once(stream, 'response');
    let body = '';
    for await (const chunk of stream) body += chunk;
    session.destroy();
    return { status: headers[':status'], fields: raw.slice(2), informational, trailers, body };
  },
};

interface Way {
  readonly name: string;
  readonly service: ScriptedService;
  readonly host: string;
  readonly isTunnel: boolean;
}

const ways: readonly Way[] = [
  await directWay('an HTTP/1.1 upstream', await scriptedService({ after }, 'http/1.1'), '127.0.0.1', false),
  await directWay(
    'an HTTP/2 upstream',
    await scriptedService({ after }, 'h2', await authority.issue()),
    'localhost',
    true,
  ),
  await tunnelWay('a tunnel to an HTTP/1.1 service', await scriptedService({ after }, 'http/1.1'), 'http'),
  await tunnelWay('a tunnel to an HTTP/2 service', await scriptedService({ after }, 'h2'), 'h2c'),
];

async function directWay(name: string, service: ScriptedService, host: string, isTls: boolean): Promise<Way> {
  const site = await edge.site(await edge.staticBackend(`${host}:${service.port}`, isTls));
  return { name, service, host: site.host, isTunnel: false };
}

async function tunnelWay(name: string, service: ScriptedService, scheme: string): Promise<Way> {
  const agent = await world.agent([{ proto: 'https', addr: `${scheme}://127.0.0.1:${service.port}` }]);
  return { name, service, host: new URL(agent.publicUrl ?? '').hostname, isTunnel: true };
}

/** Pairs with some names, in order, names in lower case. */
function pairs(fields: readonly string[], names: readonly string[]): string[] {
  const found: string[] = [];
  for (let at = 0; at < fields.length; at += 2) {
    const name = (fields[at] as string).toLowerCase();
    if (names.includes(name)) found.push(`${name}: ${fields[at + 1]}`);
  }
  return found.toSorted();
}

const twice = (names: readonly string[]): string[] => names.flatMap((name) => [name, 'a', name, 'b']);
const both = (names: readonly string[]): string[] => names.flatMap((name) => [`${name}: a`, `${name}: b`]).toSorted();

const SINGLE = ['x-content-type-options', 'content-type', 'etag', 'date', 'location', 'retry-after', 'age', 'expires'];
const IN_TRAILERS = ['x-content-type-options', 'etag', 'date', 'retry-after'];
const OBJECT_NAMES = ['constructor', '__proto__', 'hasownproperty'];
const PLAIN: ScriptedAnswer = { status: 200, fields: [] };

for (const [client, ask] of Object.entries(clients)) {
  for (const { name, service, host, isTunnel } of ways) {
    suite(`to an ${client} client, from ${name}`, () => {
      const answered = async (answer: ScriptedAnswer): Promise<SeenAnswer> => {
        service.answer = answer;
        return ask(host);
      };

      test('forwards repeated fields, also in 103 and trailers', async () => {
        const seen = await answered({
          informational: { status: 103, fields: twice(SINGLE) },
          status: 200,
          fields: twice(SINGLE),
          trailers: twice(IN_TRAILERS),
        });
        assert.deepEqual([seen.status, seen.body], [200, SCRIPTED_BODY]);
        assert.deepEqual(pairs(seen.fields, SINGLE), both(SINGLE));
        assert.deepEqual(pairs(seen.informational, SINGLE), both(SINGLE));
        assert.deepEqual(pairs(seen.trailers, IN_TRAILERS), both(IN_TRAILERS));
      });

      test('forwards names that runtime objects have', async () => {
        const fields = twice(OBJECT_NAMES);
        const seen = await answered({ informational: { status: 103, fields }, status: 200, fields, trailers: fields });
        for (const part of [seen.fields, seen.informational, seen.trailers])
          assert.deepEqual(pairs(part, OBJECT_NAMES), both(OBJECT_NAMES));
      });

      test('drops HTTP2-Settings, which belongs to a connection', async () => {
        const fields = ['HTTP2-Settings', 'AAMAAABkAAQAAP__', 'x-kept', 'yes'];
        const seen = await answered({ informational: { status: 103, fields }, status: 200, fields, trailers: fields });
        assert.deepEqual([seen.status, seen.body], [200, SCRIPTED_BODY]);
        for (const part of [seen.fields, seen.informational, seen.trailers])
          assert.deepEqual(pairs(part, ['http2-settings', 'x-kept']), ['x-kept: yes']);
      });

      for (const status of [600, 999]) {
        test(`a status of ${status} costs no other request`, async () => {
          const seen = await answered({ status, fields: [] });
          // The runtime's HTTP/2 server, at the edge or in the agent, sends none above 599.
          const isSendable = client === 'HTTP/1.1' && !isTunnel;
          assert.equal(seen.status, isSendable ? status : 502);
          const next = await answered(PLAIN);
          assert.deepEqual([next.status, next.body], [200, SCRIPTED_BODY]);
        });
      }
    });
  }
}
