import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { withSettings } from './edit-file.ts';

function edited(text: string, changes: Record<string, string | string[] | number | boolean>): string {
  return withSettings(text, 'server.yaml', new Map(Object.entries(changes)));
}

suite('editing a file of settings', () => {
  const CASES: readonly (readonly [string, string, Parameters<typeof edited>[1], string])[] = [
    ['writes into an empty file', '', { acme: 'on', workers: 2 }, 'acme: "on"\nworkers: 2\n'],
    [
      'keeps comments, quotes, blank lines and the order',
      '# ours\n\nregion:   "eu"   # where we are\n# the end\n',
      { domain: 'example.com' },
      '# ours\n\nregion:   "eu"   # where we are\n# the end\ndomain: example.com\n',
    ],
    [
      'changes a value in its place, and keeps the comment behind it',
      "domain: 'old.example.com'   # do not touch\nregion: eu\n",
      { domain: 'example.com' },
      'domain: example.com   # do not touch\nregion: eu\n',
    ],
    [
      'fills a setting without a value',
      'identity_host: # later\nregion: eu\n',
      { identity_host: 'id.example.com' },
      'identity_host: id.example.com # later\nregion: eu\n',
    ],
    [
      'replaces a list in a block',
      'edge_listen:\n  - 127.0.0.1:7443\n  - 127.0.0.1:7444\nregion: eu\n',
      { edge_listen: ['[::]:443'] },
      'edge_listen: ["[::]:443"]\nregion: eu\n',
    ],
    ['ends a last line that has no end', 'region: eu', { domain: 'example.com' }, 'region: eu\ndomain: example.com\n'],
    ['keeps the line ends of Windows', 'region: eu\r\n', { region: 'us' }, 'region: us\r\n'],
  ];
  for (const [what, text, changes, result] of CASES) {
    test(what, () => assert.equal(edited(text, changes), result));
  }

  test('refuses a file that it cannot change without touching the rest', () => {
    for (const text of ['{region: eu}\n', 'region: eu\n...\n', 'region: &a eu\nhsts_preload: *a\n']) {
      const changes = text.includes('&') ? { region: 'us' } : { domain: 'example.com' };
      assert.throws(() => edited(text, changes), /Set these in it yourself.*(domain: example.com|region: us)/s, text);
    }
  });

  test('reports a file that is not valid before it changes it', () => {
    assert.throws(() => edited('regoin: eu\n', { domain: 'example.com' }), /unknown setting "regoin"/);
  });
});
