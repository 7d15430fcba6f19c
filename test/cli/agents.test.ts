import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { invitationLine } from '../../src/tunnel/protocol/invitation-line.ts';
import { localHttp } from '../tunnel/support/fault-world.ts';
import { type CommandResult, runCommand } from './run-command.ts';

const LINE = invitationLine({
  gateway: 'gateway.example.com:7444',
  caSha256: 'ab'.repeat(32),
  secret: Buffer.alloc(16, 7).toString('base64url'),
});

let answer: object = {};
const port = await localHttp({ after }, (request, response) => {
  request.resume();
  response
    .writeHead(201, { 'content-type': 'application/json', 'postern-operation-id': 'op_1' })
    .end(JSON.stringify(answer));
});

function invite(invitation: unknown, gateway: unknown = 'gateway.example.com:7444'): Promise<CommandResult> {
  answer = { id: 'ai_1', invitation, gateway, ca_sha256: null };
  const env = { POSTERN_CLI_API_URL: `http://127.0.0.1:${port}`, POSTERN_CLI_API_KEY: 'key' };
  return runCommand(['agents', 'invite', '--host', 'app.example.com'], { env });
}

suite('postern agents invite', () => {
  test('prints a command that can be pasted, with the address that is in the invitation', async () => {
    const { code, stdout, stderr } = await invite(LINE, '$(touch /tmp/owned):7444');
    assert.deepEqual([code, stdout], [0, `postern agent join ${LINE}\n`]);
    assert.match(stderr, /dials gateway\.example\.com:7444:/);
    assert.doesNotMatch(stderr, /owned/);
  });

  test('prints no command when the answer is no invitation', async () => {
    const wrong = [
      ...[`${LINE}; touch /tmp/owned`, `${LINE}\ntouch /tmp/owned`, '$(touch /tmp/owned)', '`touch /tmp/owned`'],
      ...[`${LINE}\u001b[2J`, `\u202e${LINE}`, `pstn-${'A'.repeat(1_000_000)}`, '--help', '', null, 7, {}],
      invitationLine({ gateway: '$(touch /tmp/owned):7444', caSha256: null, secret: 'AAAAAAAAAAAAAAAAAAAAAA' }),
    ];
    for (const invitation of wrong) {
      const { code, stdout, stderr } = await invite(invitation);
      assert.deepEqual([code, stdout], [3, ''], JSON.stringify(invitation).slice(0, 80));
      assert.match(
        stderr,
        /^postern: the answer has no invitation: check that --api-url leads to a Postern API[^\n]*\n$/,
      );
    }
  });
});
