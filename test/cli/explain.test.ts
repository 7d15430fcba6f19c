import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { EdgeWorld } from '../support/edge-world.ts';
import { operatorEnv, runCommand } from './run-command.ts';

const edges = await EdgeWorld.open({ after });
const env = operatorEnv(edges.world);
const site = await edges.site(await edges.staticBackend('127.0.0.1:9'));
await edges.api('PUT', `${site.routePath}/oidc`, { issuer: 'https://id.invalid', client_id: 'c', client_secret: 's' });
await edges.api('PUT', `${site.routePath}/access`, { allow: [{ claims: { groups: ['ops'] } }] });
await edges.route(site.edgeId, '/other');

function postern(...args: readonly string[]) {
  return runCommand(args, { env });
}

suite('postern explain', () => {
  test('prints the way of a request from top to bottom', async () => {
    const { code, stdout, stderr } = await postern(
      ...['explain', `https://${site.host}/a`, '--method', 'post', '--header', 'x-real-ip: 10.0.0.1'],
      ...['--from', '192.0.2.7', '--as', 'ada@example.com', '--claim', 'groups=ops', '--claim', 'groups=dev'],
    );
    assert.equal(code, 0, stderr);
    assert.match(
      stdout,
      new RegExp(
        `^site   ${site.host} \\(${site.edgeId}\\)\nroute  / \\(${site.routeId}\\)\n` +
          '  not /other: The path does not start with "/other"\\. \\(edghtsrt_\\w+\\)\n',
      ),
    );
    assert.match(
      stdout,
      /\n {2}✓ oidc: logged_in – The person is logged in\. Nobody has logged in here yet, and [^\n]+\n {2}✓ access: allowed/,
    );
    assert.match(stdout, /\noutcome {2}forwarded to\n {2}→ upstream 127\.0\.0\.1:9\n/);
    assert.match(stdout, /\n {2}\+ x-forwarded-for: 192\.0\.2\.7\n/);
    // As a browser, unless the headers say otherwise.
    const refused = await postern('explain', `https://${site.host}/a`);
    assert.match(refused.stdout, /✗ oidc: no_session[\s\S]*outcome {2}302 ERR_POSTERN_LOGIN_REQUIRED\n$/);
    const json = await postern('explain', `https://${site.host}/a`, '-o', 'json', '--header', 'Accept: */*');
    assert.equal(JSON.parse(json.stdout).outcome.status, 401);
  });

  test('takes a host as people know it, for a URL', async () => {
    const whole = await postern('explain', `https://${site.host}/`);
    assert.deepEqual(await postern('explain', site.host), whole);
    const { stdout } = await postern('explain', 'nonsense');
    assert.match(stdout, /^site {3}none has the host nonsense\nroute {2}none\n/);
    assert.match(stdout, /No edge and no tunnel has the host nonsense/);
  });

  test('explains wrong usage', async () => {
    for (const [args, says] of [
      [['explain'], /takes one URL or host/],
      [['explain', 'https://a.example/', 'b'], /takes one URL or host/],
      [['explain', 'https://a.example/', '--header', 'x'], /--header requires/],
      [['explain', 'https://a.example/', '--claim', 'a=b'], /--claim needs --as/],
      [['explain', 'https://a.example/', '--client-cert', '/nowhere.pem'], /cannot read the file/],
    ] as const) {
      const { code, stderr } = await postern(...args);
      assert.equal(code, 2, args.join(' '));
      assert.match(stderr, says);
    }
    assert.match((await postern('explain', 'ftp://a.example')).stderr, /must be an absolute http or https URL/);
  });
});
