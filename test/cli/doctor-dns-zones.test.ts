import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { checkDnsZones } from '../../src/app/cli/doctor/checks/dns-zones.ts';
import { loadConfig } from '../../src/app/settings/load.ts';
import { startBind } from '../support/dns/bind.ts';
import { NO_DNS, ref, SECRETS } from '../support/dns/challenge-records.ts';
import { startFakeNameServer } from '../support/dns/fake-name-server.ts';

const configOf = (zones: object, acme = 'on') =>
  loadConfig({ flags: new Map(), env: { POSTERN_ACME: acme, POSTERN_ACME_DNS: JSON.stringify(zones) } }).config;

suite('the doctor', async () => {
  const bind = await startBind({ after }, ['example.com']);
  const zone = { provider: 'rfc2136', server: `127.0.0.1:${bind.port}`, key_name: 'postern', key: ref('TSIG') };

  const examine = async (config: ReturnType<typeof configOf>, lookup = bind.lookup, isLocal = true) => {
    const findings = await checkDnsZones({ config, isLocal }, { env: SECRETS, lookup });
    return findings.map(({ level, message }) => `${level}: ${message}`);
  };

  test('tries the credentials of a zone without a change, and asks its name servers', async () => {
    assert.deepEqual(await examine(configOf({ 'example.com': zone })), [
      `ok: example.com (rfc2136): 127.0.0.1:${bind.port} knows the zone and the key`,
      'ok: example.com (rfc2136): all name servers of the zone answer',
    ]);
  });

  test('reports credentials that do not work, and name servers that do not answer', async (context) => {
    const server = await startFakeNameServer(context);
    server.code = 5;
    const servers = [{ host: 'ns1.example.com', addresses: [server] }];
    const lookup = { ...NO_DNS, serversOf: async () => ({ zone: 'example.com', servers }) };
    const [first = '', second] = await examine(
      configOf({ 'example.com': { ...zone, key: ref('WRONG_TSIG') } }),
      lookup,
    );
    assert.match(first, /^problem: example\.com \(rfc2136\): .*the key does not match \(BADSIG\): check key$/);
    assert.equal(second, 'warning: example.com (rfc2136): ns1.example.com (127.0.0.1): it answered REFUSED');
    const [unreadable = ''] = await examine(configOf({ 'example.com': { ...zone, key: ref('NO_SUCH') } }));
    assert.match(
      unreadable,
      /^problem: .*key of example\.com cannot be read: the environment variable NO_SUCH is not set$/,
    );
  });

  test('examines no zones from another machine, and none without acme', async () => {
    assert.deepEqual(await examine(configOf({ 'example.com': zone }), bind.lookup, false), []);
    assert.deepEqual(await examine(configOf({ 'example.com': zone }, 'off')), []);
  });
});
