import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { onBug } from '../../../kit/guarded-listeners.ts';
import { type HeldResponse, StalledResponses } from './stalled-responses.ts';

class Response implements HeldResponse {
  readonly clientAddress: string;
  readonly ms: number;
  isEnded = false;

  constructor(clientAddress: string, ms: number) {
    this.clientAddress = clientAddress;
    this.ms = ms;
  }

  heldForMs(): number {
    return this.isEnded ? 0 : this.ms;
  }

  refuseUnsent(): void {
    this.isEnded = true;
  }
}

function many(count: number, clientAddress: string, ms: number): Response[] {
  return Array.from({ length: count }, () => new Response(clientAddress, ms));
}

const endedOf = (responses: readonly Response[]): number => responses.filter(({ isEnded }) => isEnded).length;

async function look(t: TestContext, responses: readonly Response[], isShort = false): Promise<readonly string[]> {
  const relieved: string[] = [];
  const stalled = new StalledResponses({
    responses: () => responses,
    isMemoryShort: async () => isShort,
    onRelieved: (address, count) => relieved.push(`${address} ${count}`),
  });
  t.after(() => stalled.close());
  await stalled.look(0);
  return relieved;
}

suite('stalled responses', () => {
  test('of an address beyond 128 are ended, those that have stood still longest first', async (t) => {
    const [oldest, others] = [many(2, '192.0.2.1', 9_000), many(128, '192.0.2.1', 5_000)];
    const elsewhere = many(128, '192.0.2.2', 9_000);
    await look(t, [...others, ...oldest, ...elsewhere]);
    assert.deepEqual([oldest, others, elsewhere].map(endedOf), [2, 0, 0]);
  });

  test('count for the /64 of an IPv6 address, and only after five seconds', async (t) => {
    const neighbours = [...many(100, '2001:db8::1', 5_000), ...many(100, '2001:db8::2', 5_000)];
    const slow = many(500, '192.0.2.1', 4_900);
    await look(t, [...neighbours, ...slow]);
    assert.deepEqual([neighbours, slow].map(endedOf), [72, 0]);
  });

  test('do not end the process when one of them cannot be ended', async (t) => {
    const bugs: unknown[] = [];
    t.after(onBug(({ error }) => bugs.push(error)));
    const responses = many(129, '192.0.2.1', 6000);
    const broken = new Error('cannot be ended');
    for (const response of responses) {
      response.refuseUnsent = () => {
        throw broken;
      };
    }
    await look(t, responses);
    assert.deepEqual(bugs, [broken]);
  });

  test('while the machine is short of TCP memory, the address with most keeps eight', async (t) => {
    const [most, fewer, moving] = [
      many(60, '192.0.2.1', 2_000),
      many(50, '192.0.2.2', 2_000),
      many(90, '192.0.2.3', 0),
    ];
    const all = [...fewer, ...most, ...moving];
    assert.deepEqual(await look(t, all, true), ['192.0.2.1 52']);
    assert.deepEqual([most, fewer, moving].map(endedOf), [52, 0, 0]);
    assert.deepEqual(await look(t, all, true), ['192.0.2.2 42']);
    assert.deepEqual(await look(t, all, true), []);
  });
});
