import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { after, suite, test } from 'node:test';
import { openVisitors } from './open-visitors.ts';

/** `test/long/vanished-visitors.test.ts` waits until they are noticed. */
const SILENT_FOR_SECONDS = 60;
const TICKS_PER_SECOND = 100;
const KEEP_ALIVE = '02';

/** Seconds until TCP asks whether the peer is still there; null: it never does. */
function secondsToProbe(from: number, to: number): number | null {
  const hex = (port: number): string => port.toString(16).toUpperCase().padStart(4, '0');
  for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1)) {
    const [, local = '', remote = '', , , timer = ''] = line.trim().split(/\s+/);
    if (!local.endsWith(`:${hex(from)}`) || !remote.endsWith(`:${hex(to)}`)) continue;
    const [kind, when = ''] = timer.split(':');
    return kind === KEEP_ALIVE ? Number.parseInt(when, 16) / TICKS_PER_SECOND : null;
  }
  assert.fail(`no connection from port ${from} to ${to}`);
}

suite('a peer that may vanish without a word', { skip: process.platform !== 'linux' }, async () => {
  const { upstream, sockets } = await openVisitors({ after });

  for (const [kind, { localPort = 0, remotePort = 0 }] of sockets) {
    test(`is looked for after a minute of silence: ${kind}`, () => {
      const seconds = secondsToProbe(remotePort, localPort);
      assert.ok(seconds !== null && seconds <= SILENT_FOR_SECONDS, `${seconds} s`);
    });
  }

  test('is looked for behind a WebSocket and a TCP connection too', () => {
    const seconds = [...upstream.sockets].map(({ localPort = 0, remotePort = 0 }: Socket) =>
      secondsToProbe(remotePort, localPort),
    );
    // Two WebSockets and the connection of the agent. The event streams have upstream_idle_timeout.
    assert.equal(seconds.filter((each) => each !== null && each <= SILENT_FOR_SECONDS).length, 3, seconds.join());
  });
});
