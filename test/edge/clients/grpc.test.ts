import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { after, suite, test } from 'node:test';
import {
  type Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  type ClientWritableStream,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { EdgeWorld } from '../../support/edge-world.ts';
import { UpstreamAuthority } from '../settings/upstream-authority.ts';
import { EchoClient, grpcUpstream } from './grpc-service.ts';

const authority = await UpstreamAuthority.trusted({ after });
const upstream = await grpcUpstream({ after }, await authority.issue());
const world = await EdgeWorld.open({ after });
const backend = await world.staticBackend(upstream.address, true);
const plain = await world.site(backend);
const compressed = await world.site(backend);
await world.api('PUT', `${compressed.routePath}/compression`, {});

interface Reply {
  readonly value: Buffer;
  readonly head: Metadata;
  readonly trailers: Metadata;
}
interface Calls extends Client {
  unary(request: Buffer, ...rest: unknown[]): never;
  fail(request: Buffer, ...rest: unknown[]): never;
  never(request: Buffer, ...rest: unknown[]): never;
  collect(done: (error: ServiceError | null, value: Buffer) => void): ClientWritableStream<Buffer>;
  repeat(request: Buffer): ClientReadableStream<Buffer>;
  chat(): ClientDuplexStream<Buffer, Buffer>;
}

function clientOf(host: string): Calls {
  const trust = credentials.createSsl(Buffer.from(world.ca.join('\n')));
  const client = new EchoClient(`127.0.0.1:${world.port}`, trust, {
    'grpc.ssl_target_name_override': host,
    'grpc.default_authority': host,
    'grpc.max_receive_message_length': -1,
  }) as unknown as Calls;
  after(() => client.close());
  return client;
}

function call(
  client: Calls,
  name: 'unary' | 'fail' | 'never',
  request: Buffer,
  metadata = new Metadata(),
  options = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    let head = new Metadata();
    let value: Buffer = Buffer.alloc(0);
    const started = client[name](request, metadata, options, (error: ServiceError | null, answer: Buffer) => {
      if (error === null) value = answer;
      else reject(error);
    }) as NodeJS.EventEmitter;
    started.on('metadata', (got: Metadata) => {
      head = got;
    });
    started.on('status', ({ metadata: trailers }: { metadata: Metadata }) => resolve({ value, head, trailers }));
  });
}

async function all(stream: AsyncIterable<Buffer>): Promise<string[]> {
  const got: string[] = [];
  for await (const part of stream) got.push(part.toString());
  return got;
}

for (const [name, { host }] of [
  ['through the edge', plain],
  ['through the edge with compression on', compressed],
] as const) {
  suite(`gRPC ${name}`, () => {
    const client = clientOf(host);

    test('unary, with metadata both ways', async () => {
      const metadata = new Metadata();
      metadata.set('x-asked', 'value');
      metadata.set('x-asked-bin', Buffer.from([0, 1, 254, 255]));
      const { value, head, trailers } = await call(client, 'unary', Buffer.from('hello'), metadata);
      assert.equal(value.toString(), 'hello');
      assert.deepEqual(head.get('x-head'), ['at the beginning']);
      for (const got of [head, trailers, upstream.metadata.at(-1)]) {
        assert.deepEqual(got?.get('x-asked'), ['value']);
        assert.deepEqual(got?.get('x-asked-bin'), [Buffer.from([0, 1, 254, 255])]);
      }
      assert.deepEqual(trailers.get('x-trailer'), ['at the end']);
      assert.deepEqual(upstream.metadata.at(-1)?.get('x-forwarded-for'), ['127.0.0.1']);
    });

    test('large messages, that compress and that do not', async () => {
      for (const request of [randomBytes(5_000_000), Buffer.alloc(5_000_000, 'repeat'), Buffer.alloc(0)]) {
        assert.ok(request.equals((await call(client, 'unary', request)).value));
      }
    });

    test('messages that gRPC itself compresses', async () => {
      const gzipped = new EchoClient(
        `127.0.0.1:${world.port}`,
        credentials.createSsl(Buffer.from(world.ca.join('\n'))),
        {
          'grpc.ssl_target_name_override': host,
          'grpc.default_authority': host,
          'grpc.default_compression_algorithm': 2,
        },
      ) as unknown as Calls;
      const request = Buffer.alloc(100_000, 'repeat');
      assert.ok(request.equals((await call(gzipped, 'unary', request)).value));
      gzipped.close();
    });

    test('an error without a message (trailers only) comes with its code, words and metadata', async () => {
      const metadata = new Metadata();
      metadata.set('x-asked', 'value');
      await assert.rejects(call(client, 'fail', Buffer.from('x'), metadata), (error: ServiceError) => {
        assert.deepEqual([error.code, error.details], [status.FAILED_PRECONDITION, 'not like this: \u00fc%']);
        assert.deepEqual(error.metadata.get('x-why-bin'), [Buffer.from([0, 255, 1])]);
        assert.deepEqual(error.metadata.get('x-asked'), ['value']);
        return true;
      });
    });

    test('a method that the upstream does not know', async () => {
      const error = await new Promise<ServiceError | null>((resolve) => {
        const same = (value: Buffer): Buffer => value;
        client.makeUnaryRequest('/test.Echo/Nothing', same, same, Buffer.from('x'), resolve);
      });
      assert.equal(error?.code, status.UNIMPLEMENTED);
    });

    test('the client streams', async () => {
      const answered = new Promise<Buffer>((resolve, reject) => {
        const stream = client.collect((error, value) => (error === null ? resolve(value) : reject(error)));
        for (let n = 0; n < 200; n += 1) stream.write(Buffer.from(`${n},`));
        stream.end();
      });
      assert.equal((await answered).toString(), Array.from({ length: 200 }, (_, n) => `${n},`).join(''));
    });

    test('the server streams', async () => {
      const expected = Array.from({ length: 200 }, (_, n) => `word ${n}`);
      assert.deepEqual(await all(client.repeat(Buffer.from('word 200'))), expected);
    });

    test('both stream, each message answered before the next is sent', async () => {
      const stream = client.chat();
      for (let n = 0; n < 20; n += 1) {
        stream.write(Buffer.from(`message ${n}`));
        const [answer] = await once(stream, 'data');
        assert.equal(String(answer), `message ${n}`);
      }
      const ended = once(stream, 'status');
      stream.end();
      assert.equal((await ended)[0].code, status.OK);
    });

    // The upstream knows the deadline, too, and may be the first to act on it.
    test('a deadline that passes ends the call on both sides', async () => {
      const cancelled = upstream.nextCancelled();
      const options = { deadline: Date.now() + 300 };
      await assert.rejects(call(client, 'never', Buffer.from('x'), new Metadata(), options), {
        code: status.DEADLINE_EXCEEDED,
      });
      await cancelled;
    });

    test('a call without a deadline that the client gives up is cancelled at the upstream', async () => {
      const cancelled = upstream.nextCancelled();
      const begun = upstream.nextBegun();
      const ended = new Promise<ServiceError | null>((resolve) => {
        const started = client.never(Buffer.from('x'), resolve) as { cancel(): void };
        void begun.then(() => started.cancel());
      });
      assert.equal((await ended)?.code, status.CANCELLED);
      await cancelled;
    });

    test('a stream that the client cancels is cancelled at the upstream', async () => {
      const cancelled = upstream.nextCancelled();
      const stream = client.repeat(Buffer.from('word 1'));
      stream.on('error', () => {});
      await once(stream, 'data');
      stream.cancel();
      await cancelled;
    });

    test('many calls at once', async () => {
      const requests = Array.from({ length: 300 }, (_, n) => Buffer.from(`call ${n}`));
      const replies = await Promise.all(requests.map((request) => call(client, 'unary', request)));
      assert.deepEqual(
        replies.map(({ value }) => value),
        requests,
      );
    });
  });
}

test('what the edge refuses is an error that gRPC can tell from others', async () => {
  const site = await world.site(backend);
  const { policyId } = await world.ipPolicy('deny', '127.0.0.0/8');
  await world.api('PUT', `${site.routePath}/ip_restriction`, { ip_policy_ids: [policyId] });
  await assert.rejects(call(clientOf(site.host), 'unary', Buffer.from('x')), { code: status.PERMISSION_DENIED });
  const dead = await world.site();
  await assert.rejects(call(clientOf(dead.host), 'unary', Buffer.from('x')), { code: status.UNAVAILABLE });
});
