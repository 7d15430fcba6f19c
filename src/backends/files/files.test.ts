import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { BackendSnapshot, TargetPorts } from '../backend.ts';
import { files } from './files.ts';

const CONFIG = {
  ...{ folder: '/srv/www/docs', index_files: ['index.html'], fallback: '', not_found_page: '' },
  ...{ listing: false, compression: true },
};

const onServer = (folder: string, fileRoots: readonly string[] | null): readonly string[] =>
  (files.checkOnServer?.({ ...CONFIG, folder } as never, { fileRoots, dataDir: '/srv/data' }) ?? []).map(
    ({ message }) => message,
  );

suite('files backend', () => {
  test('takes folders below file_roots, as far as names say', () => {
    assert.deepEqual(onServer('/srv/www/docs', ['/srv/www']), []);
    assert.deepEqual(onServer('/srv/www', ['/opt', '/srv/www/']), []);
    assert.deepEqual(onServer('/anything', ['/']), []);
    assert.match(onServer('/srv/www-other', ['/srv/www'])[0] ?? '', /not below a folder/);
    assert.match(onServer('/srv/www', [])[0] ?? '', /POSTERN_FILE_ROOTS.*is empty/);
    assert.match(onServer('/srv/data/x', ['/srv'])[0] ?? '', /data directory/);
    // Only the server knows its settings.
    assert.deepEqual(onServer('/srv/www', null), []);
    assert.match(onServer('www', null)[0] ?? '', /absolute path/);
  });

  test('refuses names that are no files below the folder', () => {
    for (const name of ['../x', '/x', 'a//b', 'a/./b', '.env', 'a/.git/b', 'a\\b', 'a\0b'])
      assert.equal(files.check?.({ ...CONFIG, fallback: name } as never).length, 1, name);
    assert.deepEqual(files.check?.({ ...CONFIG, fallback: 'app/index.html' } as never), []);
  });

  test('may serve the same files as another one above or below it', () => {
    const same = (one: string, other: string): boolean | undefined =>
      files.maySendToSame?.({ folder: one } as never, { folder: other } as never);
    assert.equal(same('/srv/www', '/srv/www/docs'), true);
    assert.equal(same('/srv/www/docs', '/srv/www'), true);
    assert.equal(same('/srv/www', '/srv/www2'), false);
  });

  test('sends requests to its folder, with its rules', () => {
    const backend = {
      id: 'bkdfi_1',
      config: { ...CONFIG, fallback: 'index.html' },
    } as unknown as BackendSnapshot<never>;
    const upstream = {};
    const ports = {
      folderOf: (of: unknown, rules: () => unknown) => {
        assert.equal(of, backend);
        assert.deepEqual(rules(), {
          ...{ folder: '/srv/www/docs', indexFiles: ['index.html'], fallback: 'index.html', notFoundPage: null },
          ...{ listing: false, compression: true },
        });
        return upstream;
      },
    } as unknown as TargetPorts<object>;
    assert.deepEqual(files.targets(backend, ports), [{ kind: 'upstream', upstream, name: '/srv/www/docs' }]);
  });
});
