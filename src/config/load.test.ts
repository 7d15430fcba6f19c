import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { parse, stringify } from 'yaml';
import { PosternError } from '../lib/errors.ts';
import { parseFlags } from '../lib/flags.ts';
import { readProgramFile } from '../lib/program-files.ts';
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
