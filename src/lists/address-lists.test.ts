import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { tempDir } from '../../test/support/temp-dir.ts';
import { AddressLists } from './address-lists.ts';
import type { BuiltTable } from './built-table.ts';
import type { ListOrigin } from './followed-list.ts';
import { KnownLists } from './known-lists.ts';
import { ListLoader } from './list-loader.ts';

/** Waits with the first list until the test lets it go on. */
class HeldLoader extends ListLoader {
  readonly entered = Promise.withResolvers<void>();
  readonly release = Promise.withResolvers<void>();

  override async build(format: 'plain' | 'mmdb', bytes: Uint8Array): Promise<BuiltTable> {
    this.entered.resolve();
    await this.release.promise;
    return super.build(format, bytes);
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
        bytes: new Uint8Array(Buffer.from(content.text)),
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
