import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { flagOf, settingNames } from './schema.ts';
import { settingFlags } from './setting-flags.ts';

suite('settingFlags', () => {
  const flagNamed = (name: string) => settingFlags.find((flag) => flag.name === name);

  test('has every setting', () => {
    assert.deepEqual(
      settingFlags.map(({ name }) => name),
      ['config', ...settingNames.map(flagOf)],
    );
  });

  test('has the default, written as for a flag', () => {
    assert.match(flagNamed('edge-listen')?.description ?? '', /^Listen address /);
    assert.equal(flagNamed('edge-listen')?.default, '127.0.0.1:7443');
    assert.equal(flagNamed('roles')?.default, 'api,edge,gateway,events');
    assert.equal(flagNamed('access-log')?.default, 'true');
    assert.equal(flagNamed('trusted-proxies')?.default, 'empty');
  });

  test('has no default for a setting that is unset, nor a list that fills lines', () => {
    assert.match(flagNamed('database-url')?.description ?? '', /Unset: SQLite/);
    assert.equal(flagNamed('database-url')?.default, undefined);
    assert.equal(flagNamed('drop-request-headers')?.default, 'see --print-config');
  });
});
