import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { tempDir } from '../../../test/support/temp-dir.ts';
import { AddressLists } from './address-lists.ts';
import type { ListOrigin } from './followed-list.ts';
import type { BuiltTable } from './kept-tables.ts';
import { KnownLists } from './known-lists.ts';
import { ListLoader } from './list-loader.ts';

/** Waits with the first list until the test lets it go on. */
class HeldLoader extends ListLoader {
  readonly entered = Promise.withResolvers<void>();
  readonly release = Promise.withResolvers<void>();

  override async build(...job: Parameters<ListLoader['build']>): Promise<BuiltTable> {
    this.entered.resolve();
    await this.release.promise;
    return super.build(...job);
  }
}

const NOBODY = { info: () => {}, warn: () => {} };

/** A source with validators, as a file has a stamp and a server an ETag. */
function origin(isRemote: boolean, content: { text: string }): ListOrigin {
  const field = isRemote ? 'validators' : 'stamp';
  const mark = (): unknown => (isRemote ? { etag: content.text, lastModified: '' } : content.text);
  return {
    ...{ id: 'ipl_1', source: 'here', subject: 'the list', format: 'plain', everyMs: 60_000, isRemote },
    read: async (known) => {
      if (JSON.stringify(known[field]) === JSON.stringify(mark())) return null;
      const value = mark();
      return {
        chunks: [new Uint8Array(Buffer.from(content.text))],
        remember: () => Object.assign(known, { [field]: value }),
      };
    },
  };
}

suite('a list that is written again while it is being read', () => {
  for (const isRemote of [true, false]) {
    test(`is loaded anyway from ${isRemote ? 'a server' : 'a file'}`, async (t) => {
      const loader = new HeldLoader();
      const known = new KnownLists();
      const options = { clock: { nowMs: () => 1_000 }, log: NOBODY, folder: await tempDir(t), known, loader };
      const lists = new AddressLists({ ...options, countFailure: () => {} } as never);
      t.after(() => lists.close());
      const content = { text: '192.0.2.1' };
      void lists.follow(origin(isRemote, content));
      await loader.entered.promise;
      void lists.follow(origin(isRemote, content));
      loader.release.resolve();
      await lists.refresh('ipl_1', false);
      assert.deepEqual([lists.state('ipl_1').status, lists.state('ipl_1').entries], ['current', 1]);
    });
  }
});

/** A source whose server never answers, and what it has seen. */
function hanging(id: string, seen: { begun: number }): ListOrigin {
  return {
    ...{ id, source: id, subject: 'the list', format: 'plain', everyMs: 60_000, isRemote: true },
    read: (_known, signal) => {
      seen.begun += 1;
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('canceled'))));
    },
  };
}

async function open(t: TestContext, maxTableBytes = 1_000_000): Promise<AddressLists> {
  const options = { clock: { nowMs: () => 1_000 }, log: NOBODY, folder: await tempDir(t), known: new KnownLists() };
  const lists = new AddressLists({ ...options, maxTableBytes, countFailure: () => {} } as never);
  t.after(() => lists.close());
  return lists;
}

suite('lists whose servers hang', () => {
  test('are requested a few at a time, hold up no file, and end with the server or their record', async (t) => {
    const lists = await open(t);
    const seen = { begun: 0 };
    for (let at = 0; at < 20; at += 1) void lists.follow(hanging(`ipl_${at + 2}`, seen));
    await lists.follow(origin(false, { text: '192.0.2.1' }));
    assert.equal(lists.state('ipl_1').status, 'current');
    assert.equal(seen.begun, 4);
    lists.forget('ipl_2');
    void lists.follow(hanging('ipl_3', seen));
    while (seen.begun < 6) await new Promise((resolve) => setImmediate(resolve));
    await lists.close();
    assert.equal(seen.begun, 6);
  });
});

suite('a list that is refreshed by many at once', () => {
  test('is read once more for all of them, and smaller if one of them accepts that', async (t) => {
    const lists = await open(t);
    const content = { text: '192.0.2.1\n192.0.2.3\n192.0.2.5' };
    const source = origin(true, content);
    let readings = 0;
    const counted: ListOrigin = {
      ...source,
      read: (...known) => {
        readings += 1;
        return source.read(...known);
      },
    };
    void lists.follow(counted);
    await lists.refresh('ipl_1', false);
    readings = 0;
    const first = lists.refresh('ipl_1', false);
    // Written after the first one has begun to read.
    content.text = '192.0.2.1';
    const later = Array.from({ length: 50 }, (_, at) => lists.refresh('ipl_1', at === 40));
    await first;
    await Promise.all(later);
    assert.equal(readings, 2);
    assert.deepEqual([lists.state('ipl_1').status, lists.state('ipl_1').entries], ['current', 1]);
  });
});

suite('a list that does not fit beside the others', () => {
  test('is read again when there is room, although its file is the same', async (t) => {
    const lists = await open(t, 60);
    await lists.follow({ ...origin(false, { text: '192.0.2.1\n192.0.2.3\n192.0.2.5\n192.0.2.7' }), id: 'ipl_2' });
    const file = origin(false, { text: '192.0.2.1\n192.0.2.3' });
    await lists.follow(file);
    assert.match(lists.state('ipl_1').error ?? '', /does not fit: all lists of a node may take 60 bytes/);
    await lists.follow({ ...file, everyMs: 1 });
    lists.forget('ipl_2');
    await lists.refresh('ipl_1', false);
    assert.deepEqual([lists.state('ipl_1').status, lists.state('ipl_1').entries], ['current', 2]);
  });
});
