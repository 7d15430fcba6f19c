import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { checkVariables } from './environment.ts';
import { foreignApiUrl } from './foreign-api-url.ts';
import { loadConfig } from './load.ts';

suite('variables that Kubernetes injects for a Service', () => {
  const injected = {
    POSTERN_SERVICE_HOST: '10.0.0.11',
    POSTERN_SERVICE_PORT: '443',
    POSTERN_SERVICE_PORT_HTTPS: '443',
    POSTERN_PORT: 'tcp://10.0.0.11:443',
    POSTERN_PORT_443_TCP: 'tcp://10.0.0.11:443',
    POSTERN_PORT_443_TCP_PROTO: 'tcp',
    POSTERN_PORT_443_TCP_PORT: '443',
    POSTERN_PORT_443_TCP_ADDR: '10.0.0.11',
    POSTERN_API_SERVICE_HOST: '10.0.0.12',
    POSTERN_API_PORT_7080_TCP_ADDR: '10.0.0.12',
  };

  test('are ignored with one warning that names them', () => {
    const [warning = '', ...others] = checkVariables(injected);
    assert.deepEqual(others, []);
    for (const name of Object.keys(injected)) assert.match(warning, new RegExp(`\\b${name}\\b`));
    assert.match(warning, /enableServiceLinks: false/);
  });

  test('reach the caller of loadConfig, and change no setting', () => {
    const { config, warnings } = loadConfig({ flags: new Map(), env: injected });
    assert.deepEqual(config, loadConfig({ flags: new Map(), env: {} }).config);
    assert.equal(warnings.length, 1);
  });
});

test('a misspelled variable is still rejected beside them', () => {
  const env = { POSTERN_SERVICE_HOST: '10.0.0.11', POSTERN_TCP_PORT: 'x', POSTERN_DOMIAN: 'x' };
  assert.throws(
    () => checkVariables(env),
    /unknown environment variable POSTERN_DOMIAN.*Did you mean "POSTERN_DOMAIN"/,
  );
});

test("the command line's own variables are known", () => {
  assert.deepEqual(checkVariables({ POSTERN_CLI_API_URL: 'http://127.0.0.1:1', POSTERN_CLI_API_KEY: 'x' }), []);
});

suite('POSTERN_API_URL of another server on this machine', () => {
  const warningsFor = (url: string, listen = '127.0.0.1:7080'): readonly string[] =>
    foreignApiUrl(loadConfig({ flags: new Map(), env: { POSTERN_API_URL: url, POSTERN_API_LISTEN: listen } }));

  test('is pointed out, because every uri would start with it', () => {
    assert.match(warningsFor('http://127.0.0.1:9080')[0] ?? '', /port 7080.*POSTERN_CLI_API_URL/);
    assert.match(warningsFor('http://[::1]:9080')[0] ?? '', /port 7080/);
  });

  test('gives no warning when it fits, is public, or the port is not known yet', () => {
    assert.deepEqual(warningsFor('http://localhost:7080'), []);
    assert.deepEqual(warningsFor('https://api.example.com'), []);
    assert.deepEqual(warningsFor('http://127.0.0.1:9080', '127.0.0.1:0'), []);
  });
});
