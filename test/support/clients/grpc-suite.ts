import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { after, suite, test } from 'node:test';
import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import type { EdgeClients } from '../edge-clients.ts';
import { isLong } from '../share-of-cases.ts';
import { call, clientOf } from './grpc-client.ts';
import type { GrpcUpstream } from './grpc-service.ts';

/** More than one window of the client. */
const LARGE_BYTES = isLong ? 5_000_000 : 1_000_000;

export interface GrpcSuiteOptions {
  readonly name: string;
  readonly edge: EdgeClients;
  /** The service's host at the edge. */
  readonly host: string;
  readonly service: GrpcUpstream;
}

/** What gRPC must be able to do on every path to the service. */
export function grpcSuite({ name, edge, host, service }: GrpcSuiteOptions): void {
  suite(`gRPC through ${name}`, () => {
    const client = clientOf({ after }, edge, host);

    test('unary, with metadata both ways', async () => {
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
    });

    test('large messages, that compress and that do not', async () => {
      for (const request of [randomBytes(LARGE_BYTES), Buffer.alloc(LARGE_BYTES, 'repeat'), Buffer.alloc(0)]) {
        assert.ok(request.equals((await call(client, 'unary', request)).value));
      }
    });

    test('messages that gRPC itself compresses', async (context) => {
      const gzipped = clientOf(context, edge, host, { 'grpc.default_compression_algorithm': 2 });
      const request = Buffer.alloc(100_000, 'repeat');
      assert.ok(request.equals((await call(gzipped, 'unary', request)).value));
    });

    test('an error without a message (trailers only) arrives with its code, text and metadata', async () => {
      const metadata = new Metadata();
      metadata.set('x-asked', 'value');
      await assert.rejects(call(client, 'fail', Buffer.from('x'), metadata), (error: ServiceError) => {
        assert.deepEqual([error.code, error.details], [status.FAILED_PRECONDITION, 'not like this: \u00fc%']);
        assert.deepEqual(error.metadata.get('x-why-bin'), [Buffer.from([0, 255, 1])]);
        assert.deepEqual(error.metadata.get('x-asked'), ['value']);
        return true;
      });
    });

    test('an unknown method of the service', async () => {
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

    // The service knows the deadline too, and may be the first to act on it.
    test('a deadline that passes ends the call on both sides', async () => {
      const cancelled = service.nextCancelled();
      let hasBegun = false;
      void service.nextBegun().then(() => {
        hasBegun = true;
      });
      // On a busy machine the first deadline may pass before the service has received the call.
      for (let deadlineMs = 300; !hasBegun && deadlineMs < 20_000; deadlineMs *= 2) {
        const options = { deadline: Date.now() + deadlineMs };
        await assert.rejects(call(client, 'never', Buffer.from('x'), new Metadata(), options), {
          code: status.DEADLINE_EXCEEDED,
        });
      }
      assert.ok(hasBegun);
      await cancelled;
    });

    test('a call without a deadline that the client abandons is cancelled at the service', async () => {
      const cancelled = service.nextCancelled();
      const begun = service.nextBegun();
      const ended = new Promise<ServiceError | null>((resolve) => {
        const started = client.never(Buffer.from('x'), resolve) as { cancel(): void };
        void begun.then(() => started.cancel());
      });
      assert.equal((await ended)?.code, status.CANCELLED);
      await cancelled;
    });

    test('a stream that the client cancels is cancelled at the service', async () => {
      const cancelled = service.nextCancelled();
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

async function all(stream: AsyncIterable<Buffer>): Promise<string[]> {
  const got: string[] = [];
  for await (const part of stream) got.push(part.toString());
  return got;
}
