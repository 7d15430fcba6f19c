import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { parse } from 'yaml';
import { loadConfig } from './load.ts';
import { maskedUrl, printConfig } from './print.ts';
import { settingNames } from './schema.ts';

suite('printConfig', () => {
  test('prints YAML that loads to the same values, with the source of each as a comment', () => {
    const loaded = loadConfig({
      flags: new Map([['data-dir', '/a b/#c\nd']]),
      env: { POSTERN_TCP_PORTS: '[::1]:1-2', POSTERN_OIDC_HTTP_ISSUERS: 'a,b:80' },
    });
    const text = printConfig(loaded);
    assert.deepEqual(Object.keys(parse(text) as object), settingNames);
    const again = loadConfig({ flags: new Map([['config', 'x']]), env: {}, readText: () => text });
    assert.deepEqual(again.config, loaded.config);
    assert.match(text, /^tcp_ports: .*# variable POSTERN_TCP_PORTS$/m);
    assert.match(text, /^region: local # default$/m);
  });

  test('shows no part of a secret', () => {
    const planted = { key: 'K'.repeat(40), token: 'T'.repeat(40), secret: Buffer.alloc(32, 7).toString('base64') };
    const env = {
      POSTERN_API_KEY: planted.key,
      POSTERN_AUTHTOKEN: planted.token,
      POSTERN_SECRET_KEY: planted.secret,
      POSTERN_DATABASE_URL: 'postgres://user:hunter2@db.test/postern?password=hunter2&sslmode=require',
    };
    const text = printConfig(loadConfig({ flags: new Map(), env }));
    for (const value of ['KKK', 'TTT', planted.secret.slice(0, 6), 'hunter2']) assert(!text.includes(value), text);
    assert.match(text, /postgres:\/\/user:\*+@db\.test\/postern\?password=\*+&sslmode=require/);
  });

  test('masks any password, even one that was not encoded', () => {
    const password = fc
      .string({ minLength: 6, unit: fc.constantFrom(...Array.from('abc123/?#@:,%&= ')) })
      .filter((text) => /[abc123]{3}/.test(text));
    fc.assert(
      fc.property(password, (secret) => {
        const shown = maskedUrl(`postgres://user:${secret}@host/db`);
        for (const part of secret.match(/[abc123]{3,}/g) ?? []) assert(!shown.includes(part), shown);
      }),
    );
  });
});
