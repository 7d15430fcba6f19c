// Process of test modules: they are shared by everything in a process.
import assert from 'node:assert/strict';
import { Transform } from 'node:stream';
import { after, before, beforeEach, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGunzip, gunzipSync } from 'node:zlib';
import type { HeaderList } from '../../../src/kit/http/header-values.ts';
import type { ResponseTransform, TrafficResponseHead } from '../../../src/modules/contract/prepared-module.ts';
import { ask, begin, bytesOf, PROTOCOLS } from './hooked-client.ts';
import { HookedWorld, type Serve } from './hooked-world.ts';
import { shareOfTests } from './share-of-tests.ts';

const world = await HookedWorld.open({ after });
const { edge, hooks, ways } = world;
/** More than all buffers on the way hold. */
const MANY_BYTES = 64 * 1024 * 1024;
const GZIP = { 'accept-encoding': 'gzip' };
const streams = new Set<Transform>();

/** Marks every chunk and the end. */
function marking(mark: string): Transform {
  const stream = new Transform({
    transform: (chunk: Buffer, _encoding, done) => done(null, Buffer.concat([Buffer.from(mark), chunk])),
    flush: (done) => done(null, mark),
  });
  streams.add(stream);
  stream.once('close', () => streams.delete(stream));
  return stream;
}

function marked(mark: string, { headers }: TrafficResponseHead, isWhole = false): ResponseTransform {
  return {
    headers: [...headers, `x-${mark}`, String(headers.length / 2)],
    createStream: () => marking(mark),
    ...(isWhole && { whole: (body: Buffer) => Buffer.from(`${mark}${body.toString()}${mark}`) }),
    trailers: (trailers: HeaderList) => [...trailers, 'x-passed', mark],
  };
}

const hello: Serve = (_request, response) => {
  response.setHeader('content-length', '5');
  response.end('hello');
};

before(async () => {
  for (const routePath of world.routePaths) await edge.api('PUT', `${routePath}/compression`, {});
});

beforeEach(() => {
  hooks.reset();
  world.serve = (_request, response) => {
    response.setHeader('content-type', 'text/plain');
    response.setHeader('trailer', 'x-sum');
    response.write('body');
    response.addTrailers({ 'x-sum': '1' });
    response.end();
  };
});

async function until(what: string, isTrue: () => boolean): Promise<void> {
  for (const deadline = performance.now() + 10_000; !isTrue(); await sleep(2))
    assert(performance.now() < deadline, `${what}: not within 10 s`);
}

for (const [at, protocol] of PROTOCOLS.entries()) {
  for (const [way, { name, host }] of ways.entries()) {
    suite(`responses through modules, ${name} to ${protocol}`, () => {
      const test = shareOfTests(at * ways.length + way, 3);
      test('pass two changes of the body, of the trailers and compression, from the last module to the first', async () => {
        hooks.first.transform = (_request, head) => marked('a', head);
        hooks.second.transform = (_request, head) => marked('b', head);
        const answer = await ask(edge, host, protocol, { headers: GZIP });
        assert.equal(answer.headers['content-encoding'], 'gzip');
        assert.equal(gunzipSync(answer.body).toString(), 'abbodyaba');
        assert(
          Number(answer.headers['x-a']) === Number(answer.headers['x-b']) + 1,
          'the first sees what the second made',
        );
        const trailers = answer.trailers();
        assert.equal(trailers['x-sum'], '1');
        assert.equal(trailers['x-passed'], 'b, a');
      });

      test('a change of the head alone leaves body and length', async () => {
        world.serve = hello;
        hooks.first.transform = (_request, { headers }) => ({
          headers: [...headers, 'x-head', '1'],
          createStream: null,
        });
        const answer = await ask(edge, host, protocol);
        assert.equal(answer.headers['x-head'], '1');
        assert.equal(answer.headers['content-length'], '5');
        assert.equal(answer.body.toString(), 'hello');
      });

      test('a small body is changed in one call when every module can', async () => {
        world.serve = hello;
        hooks.first.transform = (_request, head) => ({ ...marked('a', head, true), trailers: (list) => list });
        hooks.second.transform = (_request, head) => ({ ...marked('b', head, true), trailers: (list) => list });
        // On a busy machine the body may arrive after the edge stops holding the head back: then it is streamed.
        let answer = await ask(edge, host, protocol);
        for (let tries = 0; tries < 100 && answer.body.toString() === 'abhelloaba'; tries += 1)
          answer = await ask(edge, host, protocol);
        assert.equal(answer.body.toString(), 'abhelloba');
        assert.equal(answer.headers['content-length'], '9');
      });

      test('a module that changes the body after another learns no length', async () => {
        world.serve = hello;
        const lengths: (number | null)[] = [];
        for (const hook of [hooks.first, hooks.second])
          hook.transform = (_request, head) => {
            lengths.push(head.bodyBytes);
            return marked('x', head);
          };
        const answer = await ask(edge, host, protocol);
        assert.deepEqual(lengths, [5, null]);
        assert.equal(answer.headers['content-length'], undefined);
      });

      test('HEAD and 304 get the changed head, no length of the old body and no stream', async () => {
        world.serve = (request, response) => {
          response.statusCode = request.headers['if-none-match'] === undefined ? 200 : 304;
          if (response.statusCode === 200) response.setHeader('content-length', '5');
          response.end(request.method === 'HEAD' || response.statusCode === 304 ? undefined : 'hello');
        };
        let made = 0;
        hooks.first.transform = (_request, head) => ({
          ...marked('a', head),
          createStream: () => {
            made += 1;
            return marking('a');
          },
        });
        for (const sending of [{ method: 'HEAD' }, { headers: { 'if-none-match': '"a"' } }]) {
          const answer = await ask(edge, host, protocol, sending);
          assert.notEqual(answer.headers['x-a'], undefined);
          assert.equal(answer.headers['content-length'], undefined);
          assert.equal(answer.body.length, 0);
        }
        assert.equal(made, 0);
      });

      test('events go through every module as they come', async () => {
        const sent = Promise.withResolvers<() => void>();
        world.serve = (_request, response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.write('data: 1\n\n');
          sent.resolve(() => response.end());
        };
        hooks.first.transform = (_request, head) => marked('a', head);
        hooks.second.transform = (_request, head) => marked('b', head);
        const { outgoing, answered } = await begin(edge, host, protocol, { headers: GZIP });
        outgoing.end();
        const { incoming } = await answered;
        let text = '';
        incoming.pipe(createGunzip()).on('data', (chunk: Buffer) => {
          text += chunk.toString();
        });
        await until('the first event is there', () => text === 'abdata: 1\n\n');
        (await sent.promise)();
        await until('the end is there', () => text.endsWith('aba'));
      });

      test('an upstream that is cut cuts the client, and frees every stream', async () => {
        world.serve = (_request, response) => {
          response.write('part');
          setTimeout(() => response.destroy(), 50);
        };
        hooks.first.transform = (_request, head) => marked('a', head);
        hooks.second.transform = (_request, head) => marked('b', head);
        await assert.rejects(ask(edge, host, protocol));
        await until('all streams are closed', () => streams.size === 0);
      });

      test('a client that goes away frees every stream and the upstream', async () => {
        let isUpstreamClosed = false;
        world.serve = (_request, response) => {
          response.on('close', () => {
            isUpstreamClosed = true;
          });
          response.write('part');
        };
        hooks.first.transform = (_request, head) => marked('a', head);
        hooks.second.transform = (_request, head) => marked('b', head);
        const { outgoing, answered } = await begin(edge, host, protocol);
        outgoing.end();
        await answered;
        assert.equal(streams.size, 2);
        outgoing.destroy();
        await until('all is closed', () => streams.size === 0 && isUpstreamClosed);
      });

      test('a module whose stream fails cuts the response, whichever it is', async () => {
        const failing = (): Transform =>
          new Transform({ transform: (_chunk, _encoding, done) => done(new Error('a bug')) });
        const closing = (): Transform =>
          new Transform({
            transform() {
              this.destroy();
            },
          });
        for (const createStream of [failing, closing]) {
          for (const [broken, other] of [
            [hooks.first, hooks.second],
            [hooks.second, hooks.first],
          ] as const) {
            broken.transform = (_request, head) => ({ ...marked('a', head), createStream });
            other.transform = (_request, head) => marked('b', head);
            await assert.rejects(ask(edge, host, protocol));
            await until('all streams are closed', () => streams.size === 0);
          }
        }
      });

      test('a slow client slows the upstream through every module', async () => {
        let written = 0;
        let total = MANY_BYTES;
        const stopped = Promise.withResolvers<void>();
        world.serve = (_request, response) => {
          const chunk = Buffer.alloc(64 * 1024);
          const pump = (): void => {
            while (written < total) {
              written += chunk.length;
              if (!response.write(chunk)) {
                setTimeout(() => stopped.resolve(), 500);
                return;
              }
            }
            response.end();
          };
          response.on('drain', pump);
          pump();
        };
        hooks.first.transform = (_request, head) => marked('a', head);
        hooks.second.transform = (_request, head) => marked('b', head);
        const { outgoing, answered } = await begin(edge, host, protocol);
        outgoing.end();
        const { incoming } = await answered;
        incoming.pause();
        await stopped.promise;
        assert(written < MANY_BYTES, 'the upstream could send everything');
        total = written;
        assert((await bytesOf(incoming)).length > total);
      });

      test('a module that sets framing is a bug: 500, and nothing of the answer', async () => {
        for (const header of ['content-length', 'transfer-encoding', 'connection']) {
          hooks.first.transform = (_request, { headers }) => ({
            headers: [...headers, header, '1'],
            createStream: null,
          });
          assert.equal((await ask(edge, host, protocol)).status, 500);
        }
      });

      test('a module that makes a header that cannot be sent is a bug: 500, and nothing of the answer', async () => {
        for (const value of ['a\r\nb: c', 'nul \u0000', 'cut to a line feed: \u010a']) {
          hooks.first.transform = (_request, { headers }) => ({
            headers: [...headers, 'x-own', value],
            createStream: null,
          });
          assert.equal((await ask(edge, host, protocol)).status, 500, JSON.stringify(value));
        }
      });
    });
  }
}

suite('a body of the configuration', () => {
  for (const protocol of PROTOCOLS) {
    test(`passes modules that change it in one call, and those that stream, over ${protocol}`, async () => {
      const { host, routePath } = await edge.site(await edge.httpResponse('fixed'));
      for (const module of ['first', 'second', 'compression']) await edge.api('PUT', `${routePath}/${module}`, {});
      for (const isWhole of [true, false]) {
        hooks.first.transform = (_request, head) => marked('a', head, isWhole);
        hooks.second.transform = (_request, head) => marked('b', head, isWhole);
        assert.equal((await ask(edge, host, protocol)).body.toString(), `abfixed${isWhole ? 'ba' : 'aba'}`);
        const head = await ask(edge, host, protocol, { method: 'HEAD' });
        assert.equal(head.headers['content-length'], undefined);
        assert.equal(head.status, 200);
        const coded = await ask(edge, host, protocol, { headers: GZIP });
        assert.match(
          (coded.headers['content-encoding'] === 'gzip' ? gunzipSync(coded.body) : coded.body).toString(),
          /fixed/,
        );
      }
    });
  }
});
