import assert from 'node:assert/strict';
import { test } from 'node:test';
import { welcomeText } from './server-command.ts';

const local = (port: number) => ({ host: '127.0.0.1', port });

test('prints first commands that fit the running server', () => {
  const bootstrapped = { apiKey: 'key-1', authtoken: 'token-1', administratorLink: null };
  const addresses = { api: local(7080), edge: local(18443), tunnel: { host: '0.0.0.0', port: 17444 } };
  const loginLink = { url: 'http://127.0.0.1:7080/console/enter?link=x', code: 'ABCD-EFGH', name: 'First API key' };
  const text = welcomeText(
    { baseUrl: 'http://127.0.0.1:7080', bootstrapped, addresses, loginLink },
    '/var/lib/postern',
  );
  assert.match(
    text,
    /logs you in to the console, once, within ten minutes:\n {2}http:.*enter\?link=x\n.*this code: ABCD-EFGH\n/,
  );
  assert.match(text, /API key +in \/var\/lib\/postern\/first-api-key\n/);
  assert.doesNotMatch(text, /key-1|token-1/);
  assert.match(text, /export POSTERN_DATA_DIR=\/var\/lib\/postern\n.* edge /);
  assert.match(text, /Console +http:\/\/127\.0\.0\.1:7080\/console\n/);
  assert.match(text, / edge app\.localhost:18443 --to 3000\n/);
  assert.match(
    text,
    /export POSTERN_SERVER_ADDR=127\.0\.0\.1:17444 POSTERN_DATA_DIR=\/var\/lib\/postern\n.* http 3000\n/,
  );
});

test('omits what an agent finds automatically and what a server without the role cannot do', () => {
  const bootstrapped = { apiKey: null, authtoken: null, administratorLink: null };
  const of = (addresses: Parameters<typeof welcomeText>[0]['addresses']) =>
    welcomeText({ baseUrl: 'http://127.0.0.1:7080', bootstrapped, addresses, loginLink: null }, 'postern-data');
  assert.doesNotMatch(of({ api: local(7080), tunnel: local(7444) }), /export|YOUR-/);
  assert.doesNotMatch(of({ api: local(7080) }), /http 3000|app\.localhost|logs you in/);
});

test('shows how to get a link to the console where it has none, unless an administrator gets the first one', () => {
  const addresses = { api: local(7080) };
  const of = (administratorLink: string | null, loginLink: Parameters<typeof welcomeText>[0]['loginLink'] = null) =>
    welcomeText(
      {
        ...{ baseUrl: 'http://127.0.0.1:7080', addresses, loginLink },
        bootstrapped: { apiKey: null, authtoken: null, administratorLink },
      },
      'postern-data',
    );
  const open = /Or log in to the console:\n\n.* open\n/;
  assert.match(of(null), open);
  assert.doesNotMatch(of('http://id.localhost/invitation'), open);
  assert.doesNotMatch(of(null, { url: 'http://127.0.0.1:7080/console/enter', code: null, name: 'key' }), open);
});
