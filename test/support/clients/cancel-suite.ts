import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, constants } from 'node:http2';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EdgeSites } from '../edge-sites.ts';

export interface CancelledWay {
  readonly name: string;
  readonly edge: EdgeSites;
  readonly host: string;
}

const UPLOADS = 120;
const AT_ONCE = 20;
const BODY = Buffer.alloc(30_000, 'x');
const { NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR } = constants;

/** Clients that cancel what they have begun, on one connection, which they need afterwards. */
export function cancelSuite({ name, edge, host }: CancelledWay): void {
  suite(`clients that cancel, through ${name}`, () => {
    for (const code of [NGHTTP2_NO_ERROR, NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR]) {
      test(`${UPLOADS} uploads, each reset with code ${code} after 25 ms, leave a usable connection`, async () => {
        // A client keeps an account of the bytes that it could not send before it cancelled, with the runtime's bug.
        const session = await edge.http2(host, { maxSessionMemory: 1 });
        let left = UPLOADS;
        const cancelOneByOne = async (): Promise<void> => {
          for (; left > 0; left -= 1) await cancelUpload(session, code);
        };
        await Promise.all(Array.from({ length: AT_ONCE }, cancelOneByOne));
        assert.deepEqual(
          await statuses(session, 20),
          Array.from({ length: 20 }, () => '200'),
        );
        session.destroy();
      });
    }

    test('the request history has them as clients that left, not as failures of an upstream', async () => {
      const { requests } = await edge.api('GET', `/requests?limit=100&host=${host}`);
      const cancelled = requests.filter(({ path }: { path: string }) => path === '/cancelled');
      assert.ok(cancelled.length > 0);
      for (const { error_code, refused_by = 'client:gone' } of cancelled)
        assert.deepEqual([error_code, refused_by], [undefined, 'client:gone']);
    });
  });
}

async function cancelUpload(session: ClientHttp2Session, code: number): Promise<void> {
  const stream = session.request({ ':method': 'POST', ':path': '/cancelled' }, { endStream: false });
  stream.on('error', () => {});
  stream.write(BODY);
  await sleep(25);
  // `close` would end the body first.
  if (code === NGHTTP2_NO_ERROR) stream.destroy();
  else if (code === NGHTTP2_CANCEL) stream.destroy(cancelled());
  else stream.destroy(new Error('broken off by the test'));
  if (!stream.closed) await once(stream, 'close');
}

/** An error of the class that makes the runtime send CANCEL. */
function cancelled(): Error {
  try {
    AbortSignal.abort().throwIfAborted();
  } catch (error) {
    return error as Error;
  }
  throw new Error('an aborted signal throws');
}

async function statuses(session: ClientHttp2Session, count: number): Promise<readonly string[]> {
  const received: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const stream = session.request({ ':path': '/' });
    const failed = once(stream, 'error').then(([error]) => (error as Error).message);
    const status = once(stream, 'response').then(([headers]) => String(headers[':status']));
    received.push(await Promise.race([status, failed]));
    status.catch(() => {});
    failed.catch(() => {});
    stream.destroy();
  }
  return received;
}
