import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { loadConfig } from '../../app/settings/load.ts';
import { printConfig } from '../../app/settings/print.ts';

const load = (value: unknown, env: Readonly<Record<string, string>> = {}) =>
  loadConfig({ flags: new Map(), env: { POSTERN_ACME_DNS: JSON.stringify(value), ...env } });
const FROM_FILE = `$\{file:/run/secrets/dns}`;
const SECRET = 'v1.0-do-not-show-this-token';

suite('the setting acme_dns', () => {
  test('maps zones to providers, and shows where secrets are', () => {
    const zones = { 'example.com': { provider: 'cloudflare', token: FROM_FILE } };
    const loaded = load(zones, { POSTERN_ACME_CHALLENGES: 'dns-01' });
    assert.deepEqual(loaded.config.acme_dns, [
      { zone: 'example.com', provider: 'cloudflare', options: { token: FROM_FILE } },
    ]);
    assert.match(printConfig(loaded), /^acme_dns: .*\$\{file:\/run\/secrets\/dns\}/m);
  });

  const wrong: readonly (readonly [string, unknown, RegExp])[] = [
    [
      'a secret itself',
      { 'example.com': { provider: 'cloudflare', token: SECRET } },
      /example\.com \(cloudflare\) has token, which is a secret: write "\$\{env:NAME\}" or "\$\{file:PATH\}"/,
    ],
    [
      'an unknown provider',
      { 'example.com': { provider: 'clodflare', token: SECRET } },
      /example\.com needs a provider: acmedns, cloudflare, hetzner, hook, rfc2136, route53/,
    ],
    [
      'an unknown option',
      { 'example.com': { provider: 'cloudflare', tokn: FROM_FILE } },
      /unknown option "tokn"\. Did you mean "?token"?/,
    ],
    [
      'a missing option',
      { 'example.com': { provider: 'rfc2136', key_name: 'k', key: FROM_FILE } },
      /lacks server: Primary server/,
    ],
    [
      'plain http',
      {
        'example.com': {
          provider: 'acmedns',
          url: 'http://auth.example.org',
          username: FROM_FILE,
          password: FROM_FILE,
        },
      },
      /has a url that is not allowed: .*http:\/\/ only for this machine/,
    ],
    ['* with a provider of zones', { '*': { provider: 'cloudflare', token: FROM_FILE } }, /only the provider hook/],
    ['a name that is no zone', { 'Example.com.': { provider: 'hook', path: '/x' } }, /has a key that is no zone/],
    ['no map for a zone', { 'example.com': SECRET }, /example\.com must be a map/],
    ['a list', [SECRET], /acme_dns \(variable POSTERN_ACME_DNS\): is no map/],
  ];
  for (const [what, value, message] of wrong) {
    test(`rejects ${what}, without repeating it`, () => {
      assert.throws(
        () => load(value),
        (error: Error) => {
          assert.match(error.message, message);
          assert.doesNotMatch(error.message, /do-not-show/);
          return true;
        },
      );
    });
  }

  test('or the hook is needed for dns-01', () => {
    assert.throws(
      () => load({}, { POSTERN_ACME_CHALLENGES: 'dns-01' }),
      /set acme_dns to the DNS providers of your zones, or its zone "\*" to a hook/,
    );
  });
});
