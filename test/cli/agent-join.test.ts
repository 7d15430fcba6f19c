import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createAgentCommand } from '../../src/app/cli/agent/join/join-command.ts';
import type { EnrollOptions } from '../../src/tunnel/agent/enroll.ts';
import { AgentError } from '../../src/tunnel/agent/errors.ts';
import { invitationLine } from '../../src/tunnel/protocol/invitation-line.ts';

const LINE = invitationLine({
  ...{ gateway: 'gateway.example.com:7444', caSha256: 'ab'.repeat(32) },
  secret: Buffer.alloc(16, 7).toString('base64url'),
});
const HOME_FILE = '/home/ana/.config/postern/agent.yaml';
const CA = '/home/ana/.config/postern/postern-gateway-ca.pem';

interface World {
  readonly files?: Readonly<Record<string, string>>;
  readonly acl?: readonly string[];
  readonly problem?: Error;
  readonly answer?: string;
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Writing fails. */
  readonly isReadOnly?: boolean;
}

/** Runs `postern agent join` on files in memory, against a server that answers as the test says. */
async function join(args: readonly string[], world: World = {}) {
  const files = new Map(Object.entries(world.files ?? {}));
  const sent: EnrollOptions[] = [];
  const printed: string[] = [];
  const warned: string[] = [];
  let made = 0;
  const command = createAgentCommand({
    files: {
      home: '/home/ana',
      read: async (path) => files.get(path) ?? Promise.reject(Object.assign(new Error('none'), { code: 'ENOENT' })),
      exists: async (path) => files.has(path),
      list: async () => [],
      resolve: async (path) => path,
      writePrivate: async (path, text) => {
        if (world.isReadOnly === true) throw Object.assign(new Error('no'), { code: 'EROFS' });
        files.set(path, text);
      },
      remove: async (path) => void files.delete(path),
    },
    hostName: 'build-1',
    enroll: async (options) => {
      sent.push(options);
      if (world.problem !== undefined) throw world.problem;
      return { credentialId: 'cr_1', acl: world.acl ?? [], authority: 'CA PEM\n' };
    },
    newToken: () => {
      made += 1;
      return `postern_cr_${made}`;
    },
    readStdin: async () => world.stdin ?? '',
  });
  const { answer } = world;
  const running = command.run(['join', ...args], {
    env: world.env ?? {},
    isTerminal: false,
    print: (line) => printed.push(line),
    warn: (line) => warned.push(line),
    ...(answer !== undefined && { ask: async () => answer }),
  });
  const outcome = await running.catch((error: Error) => error.message);
  return { outcome, files, sent, printed, warned: warned.join('\n') };
}

suite('postern agent join', () => {
  test('writes address, token and CA to a new file, and prints the next command', async () => {
    const { outcome, files, sent, printed } = await join([LINE], { acl: ['configure:*', 'bind:app.example.com'] });
    assert.equal(outcome, 0);
    assert.deepEqual(Object.fromEntries(files), {
      [HOME_FILE]: `version: 2\nserver_addr: gateway.example.com:7444\nauthtoken: postern_cr_1\nroot_cas: [${CA}]\n`,
      [CA]: 'CA PEM\n',
    });
    assert.equal(sent[0]?.name, 'build-1');
    assert.deepEqual(printed, ['postern http 3000 --domain app.example.com']);
  });

  test('keeps what the operator wrote in the file that the agent reads', async () => {
    const text =
      '# ours\nversion: 2   # of the form\nmetadata: build\ntunnels:\n  web: # the site\n    proto: http\n    addr: 3000\n';
    const { outcome, files } = await join([LINE], { files: { 'postern-agent.yaml': text } });
    assert.equal(outcome, 0);
    const written = files.get('postern-agent.yaml') ?? '';
    assert.ok(written.startsWith(text), written);
    assert.match(written.slice(text.length), /^server_addr: .*\nauthtoken: postern_cr_1\nroot_cas: \[.*\]\n$/);
  });

  test('asks before it replaces a token, and uses no invitation without an answer', async () => {
    const files = { [HOME_FILE]: 'version: 2\nauthtoken: mine # from Ben\nserver_addr: old.example.com:1\n' };
    const declined = await join([LINE], { files, answer: 'n' });
    assert.deepEqual([declined.outcome, declined.sent.length], [1, 0]);
    const alone = await join([LINE], { files });
    assert.match(String(alone.outcome), /has a token already.*add --yes/);
    assert.deepEqual(Object.fromEntries(alone.files), files);
    for (const [args, answer] of [
      [[LINE], 'yes'],
      [[LINE, '--yes'], ''],
    ] as const) {
      const agreed = await join(args, { files, ...(answer !== '' && { answer }) });
      assert.equal(agreed.outcome, 0);
      assert.match(
        agreed.files.get(HOME_FILE) ?? '',
        /^version: 2\nauthtoken: postern_cr_1 # from Ben\nserver_addr: gateway\.example\.com:7444\nroot_cas/,
      );
    }
  });

  test('does not trust the CAs of a file that the current directory happens to have', async () => {
    const secret = Buffer.alloc(16, 7).toString('base64url');
    const line = invitationLine({ gateway: 'gateway.example.com:7444', caSha256: null, secret });
    const files = { 'postern-agent.yaml': 'version: 2\nroot_cas: [ca.pem]\n' };
    const found = await join([line], { files });
    assert.match(String(found.outcome), /^postern-agent\.yaml in this directory names CAs \(root_cas\)/);
    assert.equal(found.sent.length, 0);
    assert.equal((await join([line, '--config', 'postern-agent.yaml'], { files })).outcome, 0);
    assert.equal((await join([LINE], { files })).outcome, 0);
  });

  test('reads the line from standard input, also with the command in front of it', async () => {
    for (const stdin of [`${LINE}\n`, `postern agent join ${LINE}\r\n`]) {
      assert.equal((await join([], { stdin })).outcome, 0);
    }
    assert.match(String((await join([], { stdin: '' })).outcome), /copy the line/);
    assert.equal((await join([], { answer: LINE })).outcome, 0);
  });

  test('uses the same token again after a crash or a lost connection, and a new one for another invitation', async () => {
    const lost = await join([LINE], { problem: new AgentError('ERR_POSTERN_AGENT_UNREACHABLE', 'gone') });
    assert.equal(lost.outcome, 'gone');
    const left = Object.fromEntries(lost.files);
    assert.deepEqual(Object.keys(left), [`${HOME_FILE}.joining`]);
    const again = await join([LINE], { files: left });
    assert.equal(again.sent[0]?.token, lost.sent[0]?.token);
    assert.deepEqual([...again.files.keys()].sort(), [HOME_FILE, CA]);
    const other = invitationLine({ gateway: 'gateway.example.com:7444', caSha256: null, secret: 'B'.repeat(22) });
    const { [`${HOME_FILE}.joining`]: pending = '' } = left;
    const marked = { [`${HOME_FILE}.joining`]: pending.replace('postern_cr_1', 'postern_cr_before') };
    assert.equal((await join([LINE], { files: marked })).sent[0]?.token, 'postern_cr_before');
    assert.equal((await join([other], { files: marked })).sent[0]?.token, 'postern_cr_1');
  });

  test('leaves nothing behind when the invitation does not work', async () => {
    for (const code of ['ERR_POSTERN_AGENT_INVITATION', 'ERR_POSTERN_AGENT_CERTIFICATE']) {
      const { outcome, files } = await join([LINE], { problem: new AgentError(code, 'no: \u001b]0;owned\u0007') });
      assert.equal(outcome, 'no: \\u001b]0;owned\\u0007');
      assert.equal(files.size, 0);
    }
  });

  test('does not use the invitation if the file cannot be written or changed', async () => {
    const readOnly = await join([LINE], { isReadOnly: true });
    assert.match(
      String(readOnly.outcome),
      /cannot write the file .*: its file system is mounted read-only\. .*--config names another place/,
    );
    const flow = await join([LINE], { files: { [HOME_FILE]: '{version: 2}\n' } });
    assert.match(String(flow.outcome), /has a form that this command cannot change.*was not used/);
    const invalid = await join([LINE], { files: { [HOME_FILE]: 'version: 2\nauthtokn: x\n' } });
    assert.match(String(invalid.outcome), /authtokn/);
    for (const { sent } of [readOnly, flow, invalid]) assert.equal(sent.length, 0);
  });

  test('shows only names of what the server answers, and names variables that win over the file', async () => {
    const acl = ['bind:$(reboot)', 'bind:`id`', 'bind:a b', 'bind:\u001b[1m'];
    const { printed, warned } = await join([LINE], { acl, env: { POSTERN_AUTHTOKEN: 'x' } });
    assert.deepEqual(printed, ['postern http 3000']);
    assert.match(warned, /POSTERN_AUTHTOKEN is set and takes precedence/);
    assert.deepEqual((await join([LINE], { acl: ['bind:*.b.example.com'] })).printed, [
      'postern http 3000 --domain app.b.example.com',
    ]);
    assert.deepEqual((await join([LINE, '--config', '/etc/p.yml'], { acl: ['bind:app=web'] })).printed, [
      'postern tunnel 3000 --label app=web --config /etc/p.yml',
    ]);
  });
});
