import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { suite, test } from 'node:test';
import { type LiveExchange, LiveExchanges, type Sender, SlowSenders } from './live-exchanges.ts';

/** Leaves the list when it is re-evaluated, like an exchange that is cut. */
class Judged implements LiveExchange {
  livePosition = -1;
  judgments = 0;
  readonly connection: { readonly edgeId: string };
  readonly #live: LiveExchanges;
  readonly #isCut: boolean;

  constructor(live: LiveExchanges, edgeId: string, isCut = false) {
    this.connection = { edgeId };
    this.#live = live;
    this.#isCut = isCut;
    live.add(this);
  }

  look(): void {}

  goAway(): boolean {
    return false;
  }

  reevaluate(): void {
    this.judgments += 1;
    if (this.#isCut) this.#live.delete(this);
  }
}

suite('live exchanges', () => {
  test('a change re-evaluates each exchange of its edge once, even when some are cut meanwhile, and no others', () => {
    const live = new LiveExchanges();
    const mine = Array.from({ length: 20 }, (_, at) => new Judged(live, 'one', at % 3 === 0));
    const other = new Judged(live, 'two');
    live.reevaluate('one', null);
    assert(mine.every(({ judgments }) => judgments === 1));
    assert.equal(other.judgments, 0);
    assert.equal(live.count, 14);
  });

  test('remaining exchanges are still found in any order of leaving, and leaving twice counts once', () => {
    const live = new LiveExchanges();
    const all = Array.from({ length: 50 }, () => new Judged(live, 'one'));
    const leaving = all.filter((_, at) => (at * 7) % 5 < 3).toReversed();
    for (const exchange of [...leaving, ...leaving]) live.delete(exchange);
    live.reevaluate('one', null);
    assert.equal(live.count, all.length - leaving.length);
    for (const exchange of all) assert.equal(exchange.judgments, leaving.includes(exchange) ? 0 : 1);
  });
});

function sender(
  fields: Partial<Pick<Sender, 'isAnswering'>> & { readonly isWhole?: boolean; readonly unread?: string } = {},
): Sender & { bytesIn: number; problem: string } {
  const source = new PassThrough();
  if (fields.unread !== undefined) source.write(fields.unread);
  const made = {
    isAnswering: fields.isAnswering ?? false,
    bytesIn: 0,
    problem: '',
    connection: { retire: () => {} },
    client: {
      source,
      isBodyWhole: () => fields.isWhole === true,
      writer: {
        onGone: (problem?: { readonly code: string }) => {
          made.problem = problem?.code ?? '';
        },
      },
    },
  };
  return made;
}

test('ends only clients that send their body too slowly, and only while requests are scarce', () => {
  const slow = sender();
  const brisk = sender();
  const answered = sender({ isAnswering: true });
  const whole = sender({ isWhole: true });
  const upstreamIsSlow = sender({ unread: 'waits for the upstream' });
  const all = [slow, brisk, answered, whole, upstreamIsSlow];
  let isScarce = false;
  const senders = new SlowSenders({ minBytesPerSecond: 100, isScarce: () => isScarce, senders: () => all });
  const look = (nowMs: number): string[] => {
    senders.look(nowMs);
    return all.map(({ problem }) => problem);
  };
  const nobody = ['', '', '', '', ''];
  look(0);
  assert.deepEqual(look(60_000), nobody, 'there is room');
  isScarce = true;
  assert.deepEqual(look(65_000), nobody, 'seen for the first time');
  slow.bytesIn += 499;
  brisk.bytesIn += 500;
  assert.deepEqual(look(70_000), ['ERR_POSTERN_REQUEST_TIMEOUT', '', '', '', '']);
});
