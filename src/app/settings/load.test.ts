import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { parse, stringify } from 'yaml';
import { PosternError } from '../../kit/errors.ts';
import { parseFlags } from '../../kit/flags.ts';
import { readProgramFile } from '../../kit/program-files.ts';
import { readPlainYaml } from '../../kit/text/yaml/plain-yaml.ts';
import { type ConfigInput, DEFAULTS_FILE, loadConfig } from './load.ts';
import { flagOf, settingNames, variableOf } from './schema.ts';
import { settingFlags } from './setting-flags.ts';

interface Given {
  readonly flags?: Record<string, string>;
  readonly env?: ConfigInput['env'];
  readonly file?: string;
}

function load({ flags = {}, env = {}, file }: Given = {}) {
  const all = { ...flags, ...(file === undefined ? {} : { config: 'postern-server.yaml' }) };
  return loadConfig({ flags: new Map(Object.entries(all)), env, readText: () => file ?? '' });
}

function refusal(given: Given): string {
  try {
    load(given);
  } catch (error) {
    assert(error instanceof PosternError, String(error));
    return error.message;
  }
  return assert.fail('was accepted');
}

suite('loadConfig', () => {
  test('reads the defaults without the library, which would take each start 35 ms', () => {
    assert.notEqual(readPlainYaml(readProgramFile(DEFAULTS_FILE)), null);
  });

  test('has a default or is unset for every setting, and the defaults file lists all of them', () => {
    const { config } = load();
    assert.deepEqual(config.api_listen, { host: '127.0.0.1', port: 7080 });
    assert.equal(config.database_url, null);
    assert.deepEqual(Object.keys(parse(readProgramFile(DEFAULTS_FILE)) as object), settingNames);
  });

  test('prefers the flag over the variable, the file and the default, in this order', () => {
    const values = { flag: 'flag.test', env: 'env.test', file: 'file.test' };
    fc.assert(
      fc.property(fc.subarray(['flag', 'env', 'file'] as const), fc.boolean(), (given, isEmptyElsewhere) => {
        const textOf = (source: keyof typeof values) => {
          return given.includes(source) ? values[source] : isEmptyElsewhere ? '' : undefined;
        };
        const flag = textOf('flag');
        const { config, sources } = load({
          flags: flag === undefined ? {} : { domain: flag },
          env: { POSTERN_DOMAIN: textOf('env') },
          file: `# comment\ndomain: "${textOf('file') ?? ''}"\n`,
        });
        const winner = (['flag', 'env', 'file'] as const).find((source) => given.includes(source));
        assert.equal(config.domain, winner === undefined ? 'localhost' : values[winner]);
        const names = { flag: 'flag --domain', env: 'variable POSTERN_DOMAIN', file: 'postern-server.yaml:2' };
        assert.equal(sources.domain, winner === undefined ? 'default' : names[winner]);
      }),
    );
  });

  test('reads numbers, switches and lists from text and from YAML alike', () => {
    const fromText = load({
      env: {
        POSTERN_API_RATE_LIMIT: '5',
        POSTERN_API_METRICS_OPEN: 'true',
        POSTERN_EVENTS_ALLOW_CIDRS: '10.0.0.0/8, fd00::/8',
      },
    }).config;
    const fromYaml = load({
      file: stringify({ api_rate_limit: 5, api_metrics_open: true, events_allow_cidrs: ['10.0.0.0/8', 'fd00::/8'] }),
    }).config;
    assert.deepEqual(fromText, fromYaml);
    assert.equal(fromText.api_rate_limit, 5);
    assert.deepEqual(fromText.events_allow_cidrs, ['10.0.0.0/8', 'fd00::/8']);
  });

  const refused: readonly [string, Given, RegExp][] = [
    [
      'unknown YAML key',
      { file: 'region: a\ndomian: x' },
      /^postern-server\.yaml:2: unknown setting "domian"\. Did you mean "domain"/,
    ],
    ['prototype key', { file: '__proto__: {a: 1}' }, /unknown setting "__proto__"/],
    [
      'unknown variable',
      { env: { POSTERN_DATADIR: 'x' } },
      /unknown environment variable POSTERN_DATADIR.*Did you mean "POSTERN_DATA_DIR"/,
    ],
    [
      'bad port',
      { env: { POSTERN_API_LISTEN: '127.0.0.1:70800' } },
      /^api_listen \(variable POSTERN_API_LISTEN\) is "127.0.0.1:70800"; allowed: HOST:PORT/,
    ],
    ['bad role', { flags: { roles: 'api,egde' } }, /^roles \(flag --roles\).*allowed: a list of: api/],
    ['mapping for text', { file: 'region: {a: 1}' }, /^region \(postern-server\.yaml:1\) is a map/],
    ['number for text', { file: 'region: 5' }, /^region \(postern-server\.yaml:1\) is 5/],
    [
      'broken YAML',
      { file: 'a: [' },
      /^postern-server\.yaml:1: is not valid YAML \(column 5\): a \[ or \{ is not closed/,
    ],
    ['twice the same key', { file: 'region: a\nregion: b' }, /^postern-server\.yaml:2: is not valid YAML/],
    ['no map', { file: '- a' }, /must be a map/],
    [
      'open API without TLS',
      { flags: { 'api-listen': '0.0.0.0:7080' } },
      /api_listen is 0\.0\.0\.0:7080.*POSTERN_API_TLS_CERT/,
    ],
    ['open API on IPv6', { flags: { 'api-listen': '[::]:7080' } }, /api_tls_cert/],
    ['certificate without key', { flags: { 'api-tls-cert': 'a.pem' } }, /set api_tls_key to its key file/],
    ['key without certificate', { flags: { 'api-tls-key': 'a.pem' } }, /set api_tls_cert to the file/],
  ];
  for (const [name, given, message] of refused) {
    test(`rejects: ${name}`, () => assert.match(refusal(given), message));
  }

  test('accepts a public listener with a certificate, and loopback in every spelling without one', () => {
    load({ flags: { 'api-listen': '0.0.0.0:1', 'api-tls-cert': 'internal' } });
    for (const host of ['127.0.0.1', '127.9.9.9', '[::1]', '[0:0:0:0:0:0:0:1]', 'localhost', '[::ffff:127.0.0.1]']) {
      load({ flags: { 'api-listen': `${host}:0` } });
    }
  });

  test('never repeats a secret value in a message', () => {
    const planted = 'planted-but-too-short';
    for (const name of ['api_key', 'authtoken', 'secret_key', 'database_url'] as const) {
      assert.doesNotMatch(refusal({ env: { [variableOf(name)]: planted } }), /planted/);
      assert.doesNotMatch(refusal({ file: `${name}: [${planted}]` }), /planted/);
      assert.doesNotMatch(refusal({ file: `${name}: *${planted}` }), /planted/);
    }
  });

  test('fails only with a readable message, whatever the file contains', () => {
    const yaml = fc.oneof(
      fc.string(),
      fc
        .dictionary(fc.oneof(fc.constantFrom(...settingNames), fc.string()), fc.jsonValue())
        .map((map) => stringify(map)),
    );
    fc.assert(fc.property(yaml, (file) => acceptsOrExplains(() => load({ file }))));
  });

  test('rejects a second document, an unknown tag and an endless alias in the file', () => {
    for (const [file, message] of [
      ['data_dir: a\n---\ndata_dir: b', /^postern-server\.yaml:2: starts a second document/],
      ['data_dir: !!js/function x', /^postern-server\.yaml:1: is not valid YAML \(column 11\): Unresolved tag/],
      ['data_dir: &a [*a]', /^postern-server\.yaml:1: uses an alias/],
    ] as const) {
      assert.throws(() => load({ file }), { code: 'ERR_POSTERN_CONFIG_FILE', message });
    }
  });

  test('fails only with a readable message, whatever flags and variables contain', () => {
    const names = fc.constantFrom(...settingNames);
    fc.assert(
      fc.property(
        fc.dictionary(names, fc.string()),
        fc.array(
          fc.oneof(
            fc.string(),
            names.map((name) => `--${flagOf(name)}`),
          ),
        ),
        (values, args) => {
          const env = Object.fromEntries(
            Object.entries(values).map(([name, value]) => [`POSTERN_${name.toUpperCase()}`, value]),
          );
          acceptsOrExplains(() =>
            loadConfig({
              flags: parseFlags(args, settingFlags, { command: 'postern server' }).flags,
              env,
              readText: () => '',
            }),
          );
        },
      ),
    );
  });
});

function acceptsOrExplains(action: () => unknown): void {
  try {
    action();
  } catch (error) {
    assert(error instanceof PosternError, String(error));
  }
}

const loadTogether = (env: Readonly<Record<string, string>>) => loadConfig({ flags: new Map(), env }).config;

function refusalTogether(env: Readonly<Record<string, string>>): string {
  try {
    loadTogether(env);
  } catch (error) {
    assert(error instanceof PosternError, String(error));
    return error.message;
  }
  return assert.fail('was accepted');
}

suite('settings of ACME', () => {
  test('ACME is off by default', () => {
    const config = loadTogether({});
    assert.equal(config.acme, 'off');
    assert.deepEqual(config.acme_directory, ['https://acme-v02.api.letsencrypt.org/directory']);
    assert.deepEqual(config.acme_challenges, ['tls-alpn-01', 'http-01']);
    assert.equal(config.acme_dns_hook_timeout, 300);
  });

  test('takes several directories', () => {
    const config = loadTogether({ POSTERN_ACME_DIRECTORY: 'https://a.example/dir, https://b.example/dir' });
    assert.deepEqual(config.acme_directory, ['https://a.example/dir', 'https://b.example/dir']);
  });

  test('rejects a directory without TLS, or with a password', () => {
    assert.match(
      refusalTogether({ POSTERN_ACME_DIRECTORY: 'http://a.example/dir' }),
      /allowed: a list of: https:\/\/ URLs/,
    );
    assert.match(refusalTogether({ POSTERN_ACME_DIRECTORY: 'https://u:p@a.example/dir' }), /allowed/);
    assert.match(refusalTogether({ POSTERN_ACME_DIRECTORY: ',' }), /at least one directory/);
  });

  test('requires both parts of an external account binding, and shows neither', () => {
    assert.match(refusalTogether({ POSTERN_ACME_EAB_KEY_ID: 'kid-1' }), /without acme_eab_key:/);
    const key = 'zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W';
    const message = refusalTogether({ POSTERN_ACME_EAB_KEY: key });
    assert.match(message, /without acme_eab_key_id:/);
    assert.doesNotMatch(message, /zWND/);
    assert.doesNotMatch(refusalTogether({ POSTERN_ACME_EAB_KEY: 'short+secret' }), /short/);
  });

  test('dns-01 requires a hook', () => {
    assert.match(
      refusalTogether({ POSTERN_ACME_CHALLENGES: 'dns-01' }),
      /set acme_dns to the DNS providers of your zones, or its zone "\*" to a hook/,
    );
    const config = loadTogether({
      POSTERN_ACME_CHALLENGES: 'dns-01',
      POSTERN_ACME_DNS: '{"*": {"provider": "hook", "path": "/usr/local/bin/hook"}}',
    });
    assert.deepEqual(config.acme_challenges, ['dns-01']);
  });

  test('rejects an unknown challenge, an address that is no email address, and ACME neither on nor off', () => {
    assert.match(refusalTogether({ POSTERN_ACME_CHALLENGES: 'dns-02' }), /tls-alpn-01, http-01, dns-01/);
    assert.match(refusalTogether({ POSTERN_ACME_EMAIL: 'admin' }), /email address/);
    assert.match(refusalTogether({ POSTERN_ACME: 'true' }), /allowed: off, on/);
  });
});

suite('sign-in to the console with OpenID Connect', () => {
  const issuer = { POSTERN_CONSOLE_OIDC_ISSUER: 'https://accounts.example.com' };
  const client = { ...issuer, POSTERN_CONSOLE_OIDC_CLIENT_ID: 'console' };

  test('is off by default', () => {
    const { console_oidc_issuer: unset, console_roles: roles } = loadTogether({});
    assert.deepEqual([unset, roles], [null, []]);
  });

  test('needs issuer, client id and a rule', () => {
    assert.match(refusalTogether(issuer), /set console_oidc_client_id/);
    assert.match(refusalTogether(client), /console_roles is empty/);
    assert.match(refusalTogether({ POSTERN_CONSOLE_ROLES: 'viewer=*' }), /without console_oidc_issuer/);
    assert.deepEqual(loadTogether({ ...client, POSTERN_CONSOLE_ROLES: 'viewer=*,admin=groups:a b' }).console_roles, [
      'viewer=*',
      'admin=groups:a b',
    ]);
  });

  test('rejects rules and issuers of another form', () => {
    assert.match(
      refusalTogether({ ...client, POSTERN_CONSOLE_ROLES: 'root=groups:x' }),
      /allowed: a list of: rules such as/,
    );
    for (const claim of ['Email', 'email_verified', 'user.email', 'upn', 'preferred_username']) {
      const rule = { POSTERN_CONSOLE_ROLES: `admin=${claim}:ann@example.com` };
      assert.match(refusalTogether({ ...client, ...rule }), /addresses by the claim email alone/, claim);
    }
    assert.match(refusalTogether({ ...client, POSTERN_CONSOLE_ROLES: 'admin=email:ann' }), /the claim email alone/);
    assert.match(
      refusalTogether({ ...client, POSTERN_CONSOLE_OIDC_ISSUER: 'accounts.example.com' }),
      /an OpenID issuer/,
    );
  });
});

suite('settings of the identity host', () => {
  test('identity is off by default', () => {
    const config = loadTogether({});
    assert.equal(config.identity_host, null);
    assert.deepEqual([config.identity_session_hours, config.identity_invitation_hours], [24, 72]);
    assert.equal(config.identity_email_codes, false);
  });

  test('takes a host, and the public port if it is not 443', () => {
    for (const host of ['id.example.com', 'id.localhost:7443', 'localhost.example'])
      assert.equal(loadTogether({ POSTERN_IDENTITY_HOST: host }).identity_host, host);
    const refused = [
      'https://id.example.com',
      'ID.example.com',
      'id.example.com:443',
      'id.example.com:0',
      'id.example.com:99999',
    ];
    for (const host of [...refused, '*.example.com', '192.0.2.1', '[::1]:7443', 'id.example.com/', 'id.example.com.'])
      assert.match(refusalTogether({ POSTERN_IDENTITY_HOST: host }), /allowed: a lowercase host name/, host);
  });

  test('rejects a host above the names of tunnels', () => {
    const env = { POSTERN_DOMAIN: 'tunnels.example.com' };
    for (const host of ['tunnels.example.com', 'example.com'])
      assert.match(refusalTogether({ ...env, POSTERN_IDENTITY_HOST: host }), /no tunnel could have a name/);
    assert.ok(loadTogether({ ...env, POSTERN_IDENTITY_HOST: 'id.tunnels.example.com' }));
  });

  test('mail needs a server and a sender, and shows no part of the URL', () => {
    const url = 'smtps://user:s3cret@mail.example.com';
    const message = refusalTogether({ POSTERN_SMTP_URL: url });
    assert.match(message, /smtp_url is set without mail_from/);
    assert.doesNotMatch(message, /s3cret/);
    assert.match(refusalTogether({ POSTERN_MAIL_FROM: 'a@example.com' }), /mail_from is set without smtp_url/);
    for (const from of ['a@example.com', 'Postern <a@example.com>'])
      assert.equal(loadTogether({ POSTERN_SMTP_URL: url, POSTERN_MAIL_FROM: from }).mail_from, from);
    for (const from of [
      'a',
      'a@b, c@d',
      'x <a@example.com>, y <b@example.com>',
      'a@example.com\nBcc: b@example.com',
      '<a@b> <c@d>',
    ])
      assert.match(refusalTogether({ POSTERN_SMTP_URL: url, POSTERN_MAIL_FROM: from }), /allowed: an address/, from);
    for (const wrong of ['mail.example.com', 'http://mail.example.com', 'smtp://mail.example.com/?tls=off', 'smtp://'])
      assert.match(
        refusalTogether({ POSTERN_SMTP_URL: wrong, POSTERN_MAIL_FROM: 'a@example.com' }),
        /allowed: smtps:/,
        wrong,
      );
  });

  test('codes need the identity host and mail', () => {
    const mail = { POSTERN_SMTP_URL: 'smtp://localhost', POSTERN_MAIL_FROM: 'a@example.com' };
    const codes = { POSTERN_IDENTITY_EMAIL_CODES: 'true' };
    assert.match(refusalTogether({ ...codes, ...mail }), /without identity_host/);
    assert.match(refusalTogether({ ...codes, POSTERN_IDENTITY_HOST: 'id.example.com' }), /without smtp_url/);
    assert.ok(loadTogether({ ...codes, ...mail, POSTERN_IDENTITY_HOST: 'id.example.com' }));
  });

  test('people get roles in the console without another provider', () => {
    const roles = { POSTERN_CONSOLE_ROLES: 'admin=groups:bosses' };
    assert.match(refusalTogether(roles), /without console_oidc_issuer/);
    assert.ok(loadTogether({ ...roles, POSTERN_IDENTITY_HOST: 'id.example.com' }));
    const client = { POSTERN_CONSOLE_OIDC_CLIENT_ID: 'x', POSTERN_IDENTITY_HOST: 'id.example.com' };
    assert.match(refusalTogether(client), /without console_oidc_issuer/);
  });
});
