// Process of test modules: they are shared by everything in a process.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { after, beforeEach, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BodyDemand } from '../../../src/modules/contract/prepared-module.ts';
import { ask, begin, bytesOf, PROTOCOLS } from './hooked-client.ts';
import { HookedWorld } from './hooked-world.ts';
import { shareOfTests } from './share-of-tests.ts';

const world = await HookedWorld.open({ after });
const { edge, hooks, ways } = world;

interface Seen {
  readonly headers: IncomingMessage['headers'];
  readonly trailers: IncomingMessage['trailers'];
  readonly body: string;
}

let seen: Seen[] = [];
let begun = 0;

/** Records the request, and responds with nothing. */
const remember = async (request: IncomingMessage): Promise<void> => {
  begun += 1;
  const body = (await bytesOf(request)).toString();
  seen.push({ headers: request.headers, trailers: request.trailers, body });
};

beforeEach(() => {
  seen = [];
  begun = 0;
  hooks.reset();
  world.serve = (request, response) => {
    remember(request).then(
      () => response.end('done'),
      () => response.destroy(),
    );
  };
});

const REFUSAL = { status: 401, code: 'ERR_POSTERN_BAD_HTTP', message: 'no', reason: 'signature' } as const;

/** Reads bodies of up to `maxBytes` and reports their length upstream. */
function measuring(maxBytes: number, whenLonger?: BodyDemand['whenLonger']) {
  return {
    transformRequest: () => ({
      maxBytes,
      ...(whenLonger !== undefined && { whenLonger }),
      read: (body: Buffer | null) => ({ set: ['x-length', body === null ? 'longer' : String(body.length)] }),
    }),
  };
}

async function until(what: string, isTrue: () => boolean): Promise<void> {
  for (const deadline = performance.now() + 10_000; !isTrue(); await sleep(2))
    assert(performance.now() < deadline, `${what}: not within 10 s`);
}

for (const [at, protocol] of PROTOCOLS.entries()) {
  for (const [way, { name, host }] of ways.entries()) {
    suite(`the request hook, ${protocol} to ${name}`, () => {
      const test = shareOfTests(at * ways.length + way, 3);
      test('adds, replaces and removes headers, in the order of the registry', async () => {
        hooks.first.transformRequest = () => ({
          remove: ['x-gone'],
          set: ['x-one', 'first'],
          add: ['x-list', 'added'],
        });
        hooks.second.transformRequest = (_request, headers) => ({ set: ['x-seen', JSON.stringify(headers)] });
        const headers = { 'x-gone': 'a', 'x-one': 'b', 'x-list': 'client', 'x-kept': 'c' };
        assert.equal((await ask(edge, host, protocol, { headers })).status, 200);
        const [{ headers: got }] = seen as [Seen];
        assert.equal(got['x-gone'], undefined);
        assert.equal(got['x-one'], 'first');
        assert.equal(got['x-list'], 'client, added');
        assert.equal(got['x-kept'], 'c');
        const between = JSON.parse(String(got['x-seen'])) as string[];
        assert.equal(between[between.indexOf('x-one') + 1], 'first');
        assert.equal(between.includes('x-gone'), false);
      });

      test('reads a body of known length, and forwards it unchanged', async () => {
        hooks.first = measuring(64);
        const headers = { 'content-length': '5' };
        assert.equal((await ask(edge, host, protocol, { method: 'POST', headers, body: 'hello' })).status, 200);
        assert.equal(seen[0]?.body, 'hello');
        assert.equal(seen[0]?.headers['content-length'], '5');
        assert.equal(seen[0]?.headers['x-length'], '5');
      });

      test('reads a body of unknown length, and forwards it and its trailers', async () => {
        hooks.first = measuring(64);
        await ask(edge, host, protocol, { method: 'POST', body: 'hello', trailers: { 'x-sum': '1' } });
        assert.equal(seen[0]?.body, 'hello');
        assert.equal(seen[0]?.headers['x-length'], '5');
        assert.equal(seen[0]?.trailers['x-sum'], '1');
      });

      test('counts each byte of a body once', async () => {
        for (const maxBytes of [4, 100_000]) {
          hooks.first = measuring(maxBytes, 'forward');
          await ask(edge, host, protocol, { method: 'POST', body: 'x'.repeat(70_000) });
          const id = String(seen.at(-1)?.headers['postern-request-id']);
          const line = (): string | undefined =>
            edge.world.logLines.find((logged) => logged.includes(id) && logged.includes('bytes_in'));
          await until('the access log has its line', () => line() !== undefined);
          assert.equal((JSON.parse(line() ?? '') as { bytes_in: number }).bytes_in, 70_000);
        }
      });

      test('gives an empty body for a request without one', async () => {
        hooks.first = measuring(64);
        await ask(edge, host, protocol);
        assert.equal(seen[0]?.headers['x-length'], '0');
      });

      test('rejects a longer body with 413, whether or not its length is announced', async () => {
        hooks.first = measuring(4);
        const known = { method: 'POST', headers: { 'content-length': '5' }, body: 'hello' };
        for (const sending of [known, { method: 'POST', body: 'hello' }]) {
          const answer = await ask(edge, host, protocol, sending);
          assert.equal(answer.status, 413);
          assert.equal(answer.headers['postern-error-code'], 'ERR_POSTERN_EDGE_BODY_TOO_LARGE');
        }
        assert.equal(begun, 0);
      });

      test('forwards a longer body untouched when the module says so', async () => {
        hooks.first = measuring(4, 'forward');
        const body = 'x'.repeat(300_000);
        await ask(edge, host, protocol, { method: 'POST', body });
        await ask(edge, host, protocol, { method: 'POST', headers: { 'content-length': String(body.length) }, body });
        assert.deepEqual(
          seen.map(({ headers, body: got }) => [headers['x-length'], got === body]),
          [
            ['longer', true],
            ['longer', true],
          ],
        );
      });

      test('lets a second module read further than the first', async () => {
        hooks.first = measuring(4, 'forward');
        hooks.second.transformRequest = () => ({
          maxBytes: 100_000,
          read: (body) => ({ set: ['x-second', String(body?.length)] }),
        });
        const body = 'x'.repeat(90_000);
        await ask(edge, host, protocol, { method: 'POST', body });
        assert.equal(seen[0]?.headers['x-length'], 'longer');
        assert.equal(seen[0]?.headers['x-second'], '90000');
        assert.equal(seen[0]?.body, body);
      });

      test('forwards nothing before the module has read the body, and waits for a late answer', async () => {
        const held = Promise.withResolvers<void>();
        hooks.first.transformRequest = () => ({
          maxBytes: 64,
          read: async (body) => {
            await held.promise;
            return { set: ['x-late', String(body)] };
          },
        });
        const { outgoing, answered } = await begin(edge, host, protocol, { method: 'POST', body: '' });
        outgoing.end('hello');
        await sleep(50);
        assert.equal(begun, 0);
        held.resolve();
        assert.equal((await answered).status, 200);
        assert.equal(seen[0]?.headers['x-late'], 'hello');
      });

      test('refuses a request by its body', async () => {
        hooks.first.transformRequest = () => ({ maxBytes: 64, read: () => ({ refusal: REFUSAL }) });
        assert.equal((await ask(edge, host, protocol, { method: 'POST', body: 'hello' })).status, 401);
        assert.equal(begun, 0);
      });

      test('is not asked for a request that a module refuses', async () => {
        let asked = 0;
        hooks.second.judge = () => REFUSAL;
        hooks.first.transformRequest = () => {
          asked += 1;
          return null;
        };
        assert.equal((await ask(edge, host, protocol)).status, 401);
        assert.equal(asked, 0);
      });

      test('invites the body of a client that expects 100, and of a refused one does not', async () => {
        hooks.first = measuring(64);
        const headers = { expect: '100-continue', 'content-length': '5' };
        const { outgoing, continued, answered } = await begin(edge, host, protocol, { method: 'POST', headers });
        await continued;
        assert.equal(begun, 0);
        outgoing.end('hello');
        assert.equal((await answered).status, 200);
        assert.equal(seen[0]?.headers.expect, undefined);
        hooks.first = measuring(4);
        const refused = await begin(edge, host, protocol, { method: 'POST', headers });
        let isInvited = false;
        refused.continued.then(
          () => {
            isInvited = true;
          },
          () => {},
        );
        assert.equal((await refused.answered).status, 413);
        assert.equal(isInvited, false);
        refused.outgoing.destroy();
      });

      test('forwards nothing of an upload that is cut while a module reads it', async () => {
        hooks.first = measuring(1000);
        const headers = { 'content-length': '500' };
        const { outgoing } = await begin(edge, host, protocol, { method: 'POST', headers });
        outgoing.write('a part');
        await sleep(30);
        outgoing.destroy();
        await ask(edge, host, protocol);
        assert.equal(begun, 1, 'only the request after it');
      });

      test('forwards the rest of an upload as cut when the client leaves behind the bound', async () => {
        hooks.first = measuring(4, 'forward');
        let outcome = '';
        world.serve = (request) => {
          begun += 1;
          bytesOf(request).then(
            () => {
              outcome = 'whole';
            },
            () => {
              outcome = 'cut';
            },
          );
        };
        const { outgoing } = await begin(edge, host, protocol, { method: 'POST', body: '' });
        outgoing.write('longer than four');
        await until('the upstream has the head', () => begun === 1);
        outgoing.destroy();
        await until('the upload is over', () => outcome !== '');
        assert.equal(outcome, 'cut');
      });

      test('keeps back-pressure behind the bound', async () => {
        hooks.first = measuring(4, 'forward');
        const arrived = Promise.withResolvers<IncomingMessage>();
        world.serve = (request, response) => {
          request.pause();
          request.on('end', () => response.end());
          arrived.resolve(request);
        };
        const { outgoing, answered } = await begin(edge, host, protocol, { method: 'POST', body: '' });
        const chunk = Buffer.alloc(64 * 1024);
        let written = 0;
        const stopped = async (): Promise<boolean> =>
          outgoing.writableNeedDrain &&
          (await Promise.race([once(outgoing, 'drain').then(() => false), sleep(300, true)]));
        do {
          outgoing.write(chunk);
          written += chunk.length;
          assert(written < 64 * 1024 * 1024, 'the edge takes everything although the upstream reads nothing');
        } while (!(await stopped()));
        (await arrived.promise).resume();
        outgoing.end();
        assert.equal((await answered).status, 200);
      });
    });
  }
}

const host = ways[0]?.host ?? '';
for (const protocol of PROTOCOLS) {
  test(`answers 500 and forwards nothing when a module changes what is not its own, over ${protocol}`, async () => {
    const names = ['host', 'content-length', 'transfer-encoding', 'connection', 'te', 'x-forwarded-for', 'expect'];
    for (const header of [...names, 'postern-auth-user-id', 'client-cert', 'X-Upper', 'x_under', 'a b', ':path']) {
      // Forwarding headers may be removed: an upstream then does not learn the visitor's address.
      const removal = header.startsWith('x-forwarded-') ? [] : [{ remove: [header] }];
      for (const change of [{ set: [header, '1'] }, { add: [header, '1'] }, ...removal]) {
        hooks.first.transformRequest = () => change;
        assert.equal((await ask(edge, host, protocol)).status, 500, JSON.stringify(change));
      }
    }
    for (const value of ['a\r\nb: c', 'nul \u0000', 'cut to a line feed: \u010a', '\u20ac']) {
      for (const change of [{ set: ['x-own', value] }, { add: ['x-own', value] }]) {
        hooks.first.transformRequest = () => change;
        assert.equal((await ask(edge, host, protocol)).status, 500, JSON.stringify(change));
      }
    }
    hooks.first.transformRequest = () => {
      throw new Error('a bug of the module');
    };
    assert.equal((await ask(edge, host, protocol)).status, 500);
    hooks.first.transformRequest = () => Promise.reject(new Error('a late bug of the module'));
    assert.equal((await ask(edge, host, protocol)).status, 500);
    assert.equal(begun, 0);
  });
}

for (const { name, host } of ways.filter((way) => way.name !== 'HTTP/2')) {
  test(`headers of a WebSocket's upgrade are changed too, to ${name}`, async () => {
    hooks.first.transformRequest = () => ({ maxBytes: 64, read: (body) => ({ set: ['x-length', `${body?.length}`] }) });
    const upgraded = Promise.withResolvers<IncomingMessage>();
    world.upgrade = (request, socket) => {
      upgraded.resolve(request);
      const accept = 'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=';
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${accept}\r\n\r\nhello`,
      );
      socket.on('data', () => socket.destroy()).on('error', () => {});
    };
    const socket = await edge.connect(host);
    socket.write(
      `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
    );
    assert.equal((await upgraded.promise).headers['x-length'], '0');
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    await until('the upstream is heard', () => text.startsWith('HTTP/1.1 101') && text.endsWith('hello'));
    socket.write('bye');
    await once(socket, 'close');
  });
}
