import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { PosternError } from '../../kit/errors.ts';
import type { Store } from '../../store/store.ts';
import { apiErrors } from './errors.ts';
import { type OthersWrites, othersWrites, repeatedIfStale } from './others-writes.ts';

const unauthenticated = (): PosternError => apiErrors.create('ERR_POSTERN_UNAUTHENTICATED', 'no');

/** Other processes wrote as many times as `unread` says. */
function others(unread: number, catchUp = async (): Promise<void> => {}): OthersWrites {
  let revision = 5;
  return {
    get revision() {
      return revision;
    },
    isCurrent: true,
    behind: null,
    catchUp: async () => {
      await catchUp();
      revision += unread;
    },
  };
}

suite('an operation that may have read stale records', () => {
  test('is repeated once after something new was read', async () => {
    for (const isLate of [false, true]) {
      let runs = 0;
      const run = (): string | Promise<string> => {
        runs += 1;
        if (runs > 1) return 'found';
        if (!isLate) throw unauthenticated();
        return Promise.reject(unauthenticated());
      };
      assert.equal(await repeatedIfStale(others(1), run), 'found');
      assert.equal(runs, 2);
    }
    let runs = 0;
    const neverFound = (): never => {
      runs += 1;
      throw unauthenticated();
    };
    await assert.rejects(async () => repeatedIfStale(others(1), neverFound), { code: 'ERR_POSTERN_UNAUTHENTICATED' });
    assert.equal(runs, 2);
  });

  const kept: [string, OthersWrites, () => Error][] = [
    ['nothing is new', others(0), unauthenticated],
    ['the error has nothing to do with it', others(1), () => apiErrors.create('ERR_POSTERN_STARTING', 'no')],
    ['the error is a bug', others(1), () => new TypeError('no')],
  ];
  for (const [why, known, failure] of kept) {
    test(`is not repeated when ${why}`, async () => {
      let runs = 0;
      const run = (): never => {
        runs += 1;
        throw failure();
      };
      await assert.rejects(async () => repeatedIfStale(known, run), failure());
      assert.equal(runs, 1);
    });
  }

  test('gets the error of the store instead when the store does not answer', async () => {
    const away = new Error('away');
    const known = others(1, () => Promise.reject(away));
    let runs = 0;
    const run = (): never => {
      runs += 1;
      throw unauthenticated();
    };
    await assert.rejects(async () => repeatedIfStale(known, run), away);
    assert.equal(runs, 1);
    const bug = new TypeError('no');
    const broken = (): never => {
      throw bug;
    };
    await assert.rejects(async () => repeatedIfStale(known, broken), bug);
  });

  test('that succeeds is answered in the same turn', () => {
    assert.equal(
      repeatedIfStale(others(1), () => 'found'),
      'found',
    );
  });
});

suite('what other nodes wrote', () => {
  const catchUp = (
    isShared: boolean,
    refresh: () => Promise<void>,
    caughtUp: (() => Promise<void>) | null = null,
  ): Promise<void> => {
    const news = caughtUp === null ? null : { isCurrent: true, behind: null, catchUp: caughtUp };
    return othersWrites({ sharing: { isShared } } as Store, { heardRevision: 1, refresh }, news).catchUp();
  };

  test('is read, unless nobody else uses the store', async () => {
    let reads = 0;
    const refresh = async (): Promise<void> => {
      reads += 1;
    };
    await catchUp(true, refresh);
    assert.equal(reads, 1);
    await catchUp(false, refresh);
    assert.equal(reads, 1);
  });

  test('is asked of linked nodes where there are some', async () => {
    await catchUp(
      true,
      () => assert.fail('the news decide'),
      () => Promise.resolve(),
    );
  });

  test('is unknown when the store fails or does not answer, which is the answer', async () => {
    const expected = { code: 'ERR_POSTERN_STORE_UNAVAILABLE', message: /nothing was written, send the request again/ };
    const fail = (): Promise<void> => Promise.reject(new Error('a password'));
    await assert.rejects(catchUp(true, fail), expected);
    await assert.rejects(catchUp(true, fail, fail), expected);
  });
});
