import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, connect, createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { UNLIMITED_SESSION_MEMORY } from './sessions.ts';

const LIMIT = { maxSessionMemory: 1 };
const RESETS = { streamResetBurst: 1e6, streamResetRate: 1e6 };
/** More than a window: the rest waits in the stream. */
const BODY = Buffer.alloc(1_000_000);
const CANCELLED = 30;

/** A session whose streams send what nobody reads. */
async function pair(t: TestContext, server: object, client: object): Promise<ClientHttp2Session> {
  const listening = createServer({ ...RESETS, ...server });
  listening.on('stream', (stream: ServerHttp2Stream) => {
    stream.on('error', () => {}).respond({ ':status': 200 });
    stream.write(BODY);
  });
  await once(listening.listen(0, '127.0.0.1'), 'listening');
  const session = connect(`http://127.0.0.1:${(listening.address() as AddressInfo).port}`, client);
  session.on('error', () => {});
  t.after(() => {
    session.destroy();
    listening.close();
  });
  return session;
}

/** Error of the first stream that failed. */
async function cancelMany(session: ClientHttp2Session, body: Buffer | null): Promise<string | null> {
  for (let n = 0; n < CANCELLED; n += 1) {
    const stream = session.request({ ':method': body === null ? 'GET' : 'POST' }, { endStream: body === null });
    if (body !== null) stream.write(body);
    const failed = once(stream, 'error').then(([error]) => (error as Error).message);
    const outcome = await Promise.race([once(stream, 'response').then(() => null), failed]);
    failed.catch(() => {});
    if (outcome !== null) return outcome;
    stream.destroy();
    await once(stream, 'close');
  }
  return null;
}

for (const [what, body] of [
  ['downloads', null],
  ['uploads', BODY],
] as const) {
  test(`cancelled ${what} do not use up a session`, async (t) => {
    const session = await pair(t, UNLIMITED_SESSION_MEMORY, UNLIMITED_SESSION_MEMORY);
    assert.equal(await cancelMany(session, body), null);
  });

  test(`cancelled ${what} use up a session that has a limit: the runtime still needs the option`, async (t) => {
    const [server, client] = body === null ? [LIMIT, UNLIMITED_SESSION_MEMORY] : [UNLIMITED_SESSION_MEMORY, LIMIT];
    const session = await pair(t, server, client);
    assert.match((await cancelMany(session, body)) ?? 'none failed', /ENHANCE_YOUR_CALM/);
  });
}
