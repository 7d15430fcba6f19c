import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { mmdbFile } from '../../../test/support/mmdb-file.ts';
import { AddressListProblem } from '../../kit/net/address-table.ts';
import { ListLoader } from './list-loader.ts';

const loader = new ListLoader();
after(() => loader.close());

const own = (bytes: Uint8Array): Uint8Array[] => [new Uint8Array(bytes)];

suite('the thread that builds tables', () => {
  test('builds one list after the other, also after a problem', async () => {
    const plain = () => loader.build('plain', own(Buffer.from('192.0.2.1')));
    assert.equal((await plain()).entries, 1);
    await assert.rejects(() => loader.build('mmdb', own(Buffer.from('x'))), AddressListProblem);
    assert.equal((await Promise.all([plain(), plain()])).length, 2);
  });

  test('is replaced when a list takes too long', async () => {
    const impatient = new ListLoader({ maxBuildMs: 1 });
    after(() => impatient.close());
    const lines = Array.from({ length: 100_000 }, (_, at) => `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`);
    await assert.rejects(() => impatient.build('plain', own(Buffer.from(lines.join('\n')))), /within/);
    await assert.rejects(() => impatient.build('plain', own(Buffer.from(lines.join('\n')))), /within/);
  });

  test('leaves a list that is no longer needed, and builds the next', async () => {
    const [ended, lines] = [new AbortController(), Buffer.from('2001:db8::1\n'.repeat(200_000))];
    const large = loader.build('plain', own(lines), ended.signal);
    const next = loader.build('plain', own(Buffer.from('192.0.2.1')));
    await new Promise((resolve) => setImmediate(resolve));
    ended.abort();
    await assert.rejects(large, /no longer needed/);
    assert.equal((await next).entries, 1);
  });

  test('survives every damaged byte of a country database', async () => {
    const file = mmdbFile([
      ['192.0.0.0/8', 'DE'],
      ['2001:db8::/32', 'FR'],
    ]);
    // The tree of IPv6 is long and says the same many times: a part of its bytes is enough.
    for (let at = 0; at < file.length; at += at < file.length - 300 ? 41 : 5) {
      const damaged = new Uint8Array(file);
      damaged[at] = (damaged[at] ?? 0) ^ 0xff;
      const built = await loader.build('mmdb', [damaged]).catch((error: unknown) => error);
      assert.ok(built instanceof AddressListProblem || 'table' in (built as object), `byte ${at}`);
    }
  });
});
