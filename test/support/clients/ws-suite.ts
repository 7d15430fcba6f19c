import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { suite, test } from 'node:test';
import type { ClientOptions, WebSocket } from 'ws';
import type { EdgeClients } from '../edge-clients.ts';
import { isLong } from '../share-of-cases.ts';
import type { WebSocketUpstream } from './web-socket-upstream.ts';
import { nextWsMessage, openWs } from './ws-client.ts';

/** More than one window of the client, and more than one record of TLS. */
const SIZES_KIB = isLong ? [1024, 8192] : [256, 1024];

export interface WsSuiteOptions {
  readonly name: string;
  readonly edge: EdgeClients;
  /** The upstream's host at the edge. */
  readonly host: string;
  readonly upstream: WebSocketUpstream;
}

/** What WebSockets must be able to do on every path to the upstream. */
export function wsSuite({ name, edge, host, upstream }: WsSuiteOptions): void {
  const open = (protocols: string[] = [], options: ClientOptions = {}): Promise<WebSocket> =>
    openWs(edge, host, protocols, options);
  /** The upstream's side of the most recently opened WebSocket. */
  const end = (): WebSocket => upstream.sockets.at(-1) ?? assert.fail();

  suite(`ws through ${name}`, () => {
    for (const perMessageDeflate of [true, false]) {
      test(`text and binary, both ways, ${perMessageDeflate ? '' : 'not '}compressed`, async () => {
        const client = await open([], { perMessageDeflate });
        client.send('gr\u00fc\u00dfe');
        assert.deepEqual(await nextWsMessage(client), { data: Buffer.from('gr\u00fc\u00dfe'), isBinary: false });
        const bytes = randomBytes(3000);
        client.send(bytes);
        assert.deepEqual(await nextWsMessage(client), { data: bytes, isBinary: true });
        client.close();
        await once(client, 'close');
      });

      test(`messages of ${SIZES_KIB.join(' KiB and of ')} KiB, ${perMessageDeflate ? '' : 'not '}compressed`, async () => {
        const client = await open([], { perMessageDeflate });
        assert.equal(client.extensions, perMessageDeflate ? 'permessage-deflate' : '');
        const [small, large] = SIZES_KIB.map((size) => size * 1024) as [number, number];
        for (const bytes of [randomBytes(small), Buffer.alloc(small, 'repeat'), randomBytes(large)]) {
          client.send(bytes);
          assert.ok(bytes.equals((await nextWsMessage(client)).data));
        }
        client.terminate();
      });
    }

    test('a message in fragments, with a ping between them', async () => {
      const client = await open([], { perMessageDeflate: false });
      client.send('one ', { fin: false });
      client.ping('still there?');
      assert.equal(String((await once(client, 'pong'))[0]), 'still there?');
      client.send('two ', { fin: false });
      client.send('three', { fin: true });
      assert.equal(String((await nextWsMessage(client)).data), 'one two three');
      client.terminate();
    });

    test('the upstream pings', async () => {
      const client = await open();
      const there = end();
      there.ping('and you?');
      assert.equal(String((await once(there, 'pong'))[0]), 'and you?');
      client.terminate();
      await once(there, 'close');
    });

    test('close codes and reasons, from either side', async () => {
      const first = await open();
      const closed = once(end(), 'close');
      first.close(4001, 'bye');
      const [code, reason] = await closed;
      assert.deepEqual([code, String(reason)], [4001, 'bye']);
      const second = await open();
      const closedHere = once(second, 'close');
      end().close(1012, 'restart');
      const [codeHere, reasonHere] = await closedHere;
      assert.deepEqual([codeHere, String(reasonHere)], [1012, 'restart']);
    });

    test('a side that disconnects without notice is noticed by the other', async () => {
      const first = await open();
      const closed = once(end(), 'close');
      first.terminate();
      assert.equal((await closed)[0], 1006);
      const second = await open();
      const closedHere = once(second, 'close');
      end().terminate();
      assert.equal((await closedHere)[0], 1006);
    });

    test("the subprotocol is the upstream's choice", async () => {
      const client = await open(['first', 'second']);
      assert.equal(client.protocol, 'second');
      client.terminate();
    });
  });
}
