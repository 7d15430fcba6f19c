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
import { EchoClient, grpcUpstream } from '../../edge/clients/grpc-service.ts';
import { issue } from '../../edge/tls/test-authority.ts';
import { TunnelWorld } from '../../support/tunnel-world.ts';
import { bothWays } from './ways.ts';

const authority = await issue({ commonName: 'CA of the local service', isCa: true });
const certificate = await issue({
  commonName: 'service',
  issuer: authority,
  usages: ['server'],
  dnsNames: ['localhost'],
});
const secure = await grpcUpstream({ after }, certificate);
const plain = await grpcUpstream({ after }, null);
const world = await TunnelWorld.open({ after });
const upstreamTls = { ca: authority.certificatePem };
const secureWays = await bothWays(world, { addr: `https://${secure.address}`, upstreamTls });
const plainWays = await bothWays(world, { addr: `h2c://${plain.address}` });

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
  const trust = credentials.createSsl(Buffer.from(world.edge.ca.join('\n')));
  const client = new EchoClient(`127.0.0.1:${world.edge.port}`, trust, {
    'grpc.ssl_target_name_override': host,
    'grpc.default_authority': host,
    'grpc.max_receive_message_length': -1,
  }) as unknown as Calls;
  after(() => client.close());
  return client;
}

function call(client: Calls, name: 'unary' | 'fail', request: Buffer, metadata = new Metadata()): Promise<Reply> {
  return new Promise((resolve, reject) => {
    let head = new Metadata();
    let value: Buffer = Buffer.alloc(0);
    const started = client[name](request, metadata, {}, (error: ServiceError | null, answer: Buffer) => {
      if (error === null) value = answer;
      else reject(error);
    }) as NodeJS.EventEmitter;
    started.on('metadata', (got: Metadata) => {
      head = got;
    });
    started.on('status', ({ metadata: trailers }: { metadata: Metadata }) => resolve({ value, head, trailers }));
  });
}

for (const [kind, ways, service] of [
  ['https', secureWays, secure],
  ['h2c', plainWays, plain],
] as const) {
  for (const { name, host } of ways) {
    suite(`gRPC through ${name} to a service of ${kind}`, () => {
      const client = clientOf(host);

      test('unary, with metadata both ways and trailers', async () => {
        const metadata = new Metadata();
        metadata.set('x-asked', 'value');
        metadata.set('x-asked-bin', Buffer.from([0, 1, 254, 255]));
        const { value, head, trailers } = await call(client, 'unary', Buffer.from('hello'), metadata);
        assert.equal(value.toString(), 'hello');
        assert.deepEqual(head.get('x-head'), ['at the beginning']);
        for (const got of [head, trailers, service.metadata.at(-1)]) {
          assert.deepEqual(got?.get('x-asked'), ['value']);
          assert.deepEqual(got?.get('x-asked-bin'), [Buffer.from([0, 1, 254, 255])]);
        }
        assert.deepEqual(trailers.get('x-trailer'), ['at the end']);
        assert.deepEqual(service.metadata.at(-1)?.get('postern-tunnel'), []);
      });

      test('an error is its code, its words and its metadata', async () => {
        await assert.rejects(call(client, 'fail', Buffer.from('x')), (error: ServiceError) => {
          assert.equal(error.code, status.FAILED_PRECONDITION);
          assert.equal(error.details, 'not like this: \u00fc%');
          assert.deepEqual(error.metadata.get('x-why-bin'), [Buffer.from([0, 255, 1])]);
          return true;
        });
      });

      test('large messages, that compress and that do not', async () => {
        for (const request of [randomBytes(5_000_000), Buffer.alloc(5_000_000, 'repeat'), Buffer.alloc(0)]) {
          assert.ok(request.equals((await call(client, 'unary', request)).value));
        }
      });

      test('either side streams', async () => {
        const collected = new Promise<Buffer>((resolve, reject) => {
          const stream = client.collect((error, value) => (error === null ? resolve(value) : reject(error)));
          for (let n = 0; n < 200; n += 1) stream.write(Buffer.from(`${n},`));
          stream.end();
        });
        assert.equal((await collected).toString(), Array.from({ length: 200 }, (_, n) => `${n},`).join(''));
        const got: string[] = [];
        for await (const part of client.repeat(Buffer.from('word 200'))) got.push(String(part));
        assert.deepEqual(
          got,
          Array.from({ length: 200 }, (_, n) => `word ${n}`),
        );
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

      test('a call that the client gives up is cancelled at the service', async () => {
        const cancelled = service.nextCancelled();
        const begun = service.nextBegun();
        const ended = new Promise<ServiceError | null>((resolve) => {
          const started = client.never(Buffer.from('x'), resolve) as { cancel(): void };
          void begun.then(() => started.cancel());
        });
        assert.equal((await ended)?.code, status.CANCELLED);
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
}
