import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { PosternError } from '../lib/errors.ts';
import { loadConfig } from './load.ts';

const load = (env: Readonly<Record<string, string>>) => loadConfig({ flags: new Map(), env }).config;

function refusal(env: Readonly<Record<string, string>>): string {
  try {
    load(env);
  } catch (error) {
    assert(error instanceof PosternError, String(error));
    return error.message;
  }
  return assert.fail('was accepted');
}

suite('settings of ACME', () => {
  test('ACME is off by default', () => {
    const config = load({});
    assert.equal(config.acme, 'off');
    assert.deepEqual(config.acme_directory, ['https://acme-v02.api.letsencrypt.org/directory']);
    assert.deepEqual(config.acme_challenges, ['tls-alpn-01', 'http-01']);
    assert.equal(config.acme_dns_hook_timeout, 300);
  });

  test('takes several directories', () => {
    const config = load({ POSTERN_ACME_DIRECTORY: 'https://a.example/dir, https://b.example/dir' });
    assert.deepEqual(config.acme_directory, ['https://a.example/dir', 'https://b.example/dir']);
  });

  test('rejects a directory without TLS, or with a password', () => {
    assert.match(refusal({ POSTERN_ACME_DIRECTORY: 'http://a.example/dir' }), /allowed: a list of: https:\/\/ URLs/);
    assert.match(refusal({ POSTERN_ACME_DIRECTORY: 'https://u:p@a.example/dir' }), /allowed/);
    assert.match(refusal({ POSTERN_ACME_DIRECTORY: ',' }), /at least one directory/);
  });

  test('requires both parts of an external account binding, and shows neither', () => {
    assert.match(refusal({ POSTERN_ACME_EAB_KEY_ID: 'kid-1' }), /without acme_eab_key:/);
    const key = 'zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W';
    const message = refusal({ POSTERN_ACME_EAB_KEY: key });
    assert.match(message, /without acme_eab_key_id:/);
    assert.doesNotMatch(message, /zWND/);
    assert.doesNotMatch(refusal({ POSTERN_ACME_EAB_KEY: 'short+secret' }), /short/);
  });

  test('dns-01 requires a hook', () => {
    assert.match(
      refusal({ POSTERN_ACME_CHALLENGES: 'dns-01' }),
      /set acme_dns to the DNS providers of your zones, or its zone "\*" to a hook/,
    );
    const config = load({
      POSTERN_ACME_CHALLENGES: 'dns-01',
      POSTERN_ACME_DNS: '{"*": {"provider": "hook", "path": "/usr/local/bin/hook"}}',
    });
    assert.deepEqual(config.acme_challenges, ['dns-01']);
  });

  test('rejects an unknown challenge, an address that is no email address, and ACME neither on nor off', () => {
    assert.match(refusal({ POSTERN_ACME_CHALLENGES: 'dns-02' }), /tls-alpn-01, http-01, dns-01/);
    assert.match(refusal({ POSTERN_ACME_EMAIL: 'admin' }), /email address/);
    assert.match(refusal({ POSTERN_ACME: 'true' }), /allowed: off, on/);
  });
});

suite('sign-in to the console with OpenID Connect', () => {
  const issuer = { POSTERN_CONSOLE_OIDC_ISSUER: 'https://accounts.example.com' };
  const client = { ...issuer, POSTERN_CONSOLE_OIDC_CLIENT_ID: 'console' };

  test('is off by default', () => {
    const { console_oidc_issuer: unset, console_roles: roles } = load({});
    assert.deepEqual([unset, roles], [null, []]);
  });

  test('needs issuer, client id and a rule', () => {
    assert.match(refusal(issuer), /set console_oidc_client_id/);
    assert.match(refusal(client), /console_roles is empty/);
    assert.match(refusal({ POSTERN_CONSOLE_ROLES: 'viewer=*' }), /without console_oidc_issuer/);
    assert.deepEqual(load({ ...client, POSTERN_CONSOLE_ROLES: 'viewer=*,admin=groups:a b' }).console_roles, [
      'viewer=*',
      'admin=groups:a b',
    ]);
  });

  test('rejects rules and issuers of another form', () => {
    assert.match(refusal({ ...client, POSTERN_CONSOLE_ROLES: 'root=groups:x' }), /allowed: a list of: rules such as/);
    for (const claim of ['Email', 'email_verified', 'user.email', 'upn', 'preferred_username']) {
      const rule = { POSTERN_CONSOLE_ROLES: `admin=${claim}:ann@example.com` };
      assert.match(refusal({ ...client, ...rule }), /addresses by the claim email alone/, claim);
    }
    assert.match(refusal({ ...client, POSTERN_CONSOLE_ROLES: 'admin=email:ann' }), /the claim email alone/);
    assert.match(refusal({ ...client, POSTERN_CONSOLE_OIDC_ISSUER: 'accounts.example.com' }), /an OpenID issuer/);
  });
});

suite('settings of the identity host', () => {
  test('identity is off by default', () => {
    const config = load({});
    assert.equal(config.identity_host, null);
    assert.deepEqual([config.identity_session_hours, config.identity_invitation_hours], [24, 72]);
    assert.equal(config.identity_email_codes, false);
  });

  test('takes a host, and the public port if it is not 443', () => {
    for (const host of ['id.example.com', 'id.localhost:7443', 'localhost.example'])
      assert.equal(load({ POSTERN_IDENTITY_HOST: host }).identity_host, host);
    const refused = [
      'https://id.example.com',
      'ID.example.com',
      'id.example.com:443',
      'id.example.com:0',
      'id.example.com:99999',
    ];
    for (const host of [...refused, '*.example.com', '192.0.2.1', '[::1]:7443', 'id.example.com/', 'id.example.com.'])
      assert.match(refusal({ POSTERN_IDENTITY_HOST: host }), /allowed: a lowercase host name/, host);
  });

  test('rejects a host above the names of tunnels', () => {
    const env = { POSTERN_DOMAIN: 'tunnels.example.com' };
    for (const host of ['tunnels.example.com', 'example.com'])
      assert.match(refusal({ ...env, POSTERN_IDENTITY_HOST: host }), /no tunnel could have a name/);
    assert.ok(load({ ...env, POSTERN_IDENTITY_HOST: 'id.tunnels.example.com' }));
  });

  test('mail needs a server and a sender, and shows no part of the URL', () => {
    const url = 'smtps://user:s3cret@mail.example.com';
    const message = refusal({ POSTERN_SMTP_URL: url });
    assert.match(message, /smtp_url is set without mail_from/);
    assert.doesNotMatch(message, /s3cret/);
    assert.match(refusal({ POSTERN_MAIL_FROM: 'a@example.com' }), /mail_from is set without smtp_url/);
    for (const from of ['a@example.com', 'Postern <a@example.com>'])
      assert.equal(load({ POSTERN_SMTP_URL: url, POSTERN_MAIL_FROM: from }).mail_from, from);
    for (const from of [
      'a',
      'a@b, c@d',
      'x <a@example.com>, y <b@example.com>',
      'a@example.com\nBcc: b@example.com',
      '<a@b> <c@d>',
    ])
      assert.match(refusal({ POSTERN_SMTP_URL: url, POSTERN_MAIL_FROM: from }), /allowed: an address/, from);
    for (const wrong of ['mail.example.com', 'http://mail.example.com', 'smtp://mail.example.com/?tls=off', 'smtp://'])
      assert.match(refusal({ POSTERN_SMTP_URL: wrong, POSTERN_MAIL_FROM: 'a@example.com' }), /allowed: smtps:/, wrong);
  });

  test('codes need the identity host and mail', () => {
    const mail = { POSTERN_SMTP_URL: 'smtp://localhost', POSTERN_MAIL_FROM: 'a@example.com' };
    const codes = { POSTERN_IDENTITY_EMAIL_CODES: 'true' };
    assert.match(refusal({ ...codes, ...mail }), /without identity_host/);
    assert.match(refusal({ ...codes, POSTERN_IDENTITY_HOST: 'id.example.com' }), /without smtp_url/);
    assert.ok(load({ ...codes, ...mail, POSTERN_IDENTITY_HOST: 'id.example.com' }));
  });

  test('people get roles in the console without another provider', () => {
    const roles = { POSTERN_CONSOLE_ROLES: 'admin=groups:bosses' };
    assert.match(refusal(roles), /without console_oidc_issuer/);
    assert.ok(load({ ...roles, POSTERN_IDENTITY_HOST: 'id.example.com' }));
    const client = { POSTERN_CONSOLE_OIDC_CLIENT_ID: 'x', POSTERN_IDENTITY_HOST: 'id.example.com' };
    assert.match(refusal(client), /without console_oidc_issuer/);
  });
});
