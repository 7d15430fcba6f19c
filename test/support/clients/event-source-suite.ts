import assert from 'node:assert/strict';
import { once } from 'node:events';
import { afterEach, suite, test } from 'node:test';
import { EventSource } from 'eventsource';
import type { RecordingUpstream } from '../../edge/traffic/recording-upstream.ts';
import type { EdgeClients } from '../edge-clients.ts';
import { type EventCoding, fetchThrough, nextMessage, nextStream } from './event-source-client.ts';

const CODINGS: readonly EventCoding[] = ['identity', 'gzip', 'br', 'zstd'];
const COUNT = 20;

export interface EventSourceSuiteOptions {
  readonly name: string;
  readonly edge: EdgeClients;
  /** The upstream's host at the edge. */
  readonly host: string;
  readonly isCompressed: boolean;
  readonly upstream: RecordingUpstream;
}

/** What an EventSource must be able to do on every path to the upstream. */
export function eventSourceSuite({ name, edge, host, isCompressed, upstream }: EventSourceSuiteOptions): void {
  const open = (accepted: EventCoding): EventSource => {
    const fetch = fetchThrough(edge, host, { accepted, used: isCompressed ? accepted : 'identity' });
    return new EventSource(`https://${host}/events`, { fetch });
  };

  suite(`EventSource through ${name}`, () => {
    afterEach(() => {
      upstream.answer = null;
    });

    for (const coding of CODINGS) {
      test(`each event arrives before the next is written, and the end is noticed: ${coding} is accepted`, async () => {
        const accepted = nextStream(upstream);
        const source = open(coding);
        const { request, response } = await accepted;
        await new Promise((resolve) => source.addEventListener('open', resolve, { once: true }));
        for (let n = 0; n < COUNT; n += 1) {
          const arrived = nextMessage(source);
          response.write(`id: ${n}\ndata: event ${n}\ndata: second line\n\n`);
          const { data, lastEventId } = await arrived;
          assert.deepEqual([data, lastEventId], [`event ${n}\nsecond line`, String(n)]);
        }
        const left = once(request.socket, 'close');
        source.close();
        await left;
      });
    }

    test('it reconnects with the id of the last event, when the upstream ends or breaks off', async () => {
      let accepted = nextStream(upstream);
      const source = open('gzip');
      let stream = await accepted;
      assert.equal(stream.request.headers['last-event-id'], undefined);
      for (const [id, end] of [
        ['a-1', () => stream.response.end()],
        ['a-2', () => stream.request.socket.destroy()],
      ] as const) {
        const arrived = nextMessage(source);
        stream.response.write(`retry: 20\nid: ${id}\ndata: x\n\n`);
        await arrived;
        accepted = nextStream(upstream);
        end();
        stream = await accepted;
        assert.equal(stream.request.headers['last-event-id'], id);
      }
      source.close();
    });
  });
}
