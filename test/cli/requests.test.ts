import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { runCli } from '../../src/app/main/cli.ts';
import { recorded } from '../support/recorded-request.ts';
import { TestWorld } from '../support/test-world.ts';
import { operatorEnv, runCommand } from './run-command.ts';

const world = await TestWorld.open({ after });
const env = operatorEnv(world);
const { history } = world.server;

function postern(...args: readonly string[]) {
  return runCommand(args, { env });
}

/** Without colours. */
function plainLines(text: string): readonly string[] {
  return stripVTControlCharacters(text).trimEnd().split('\n');
}

const long = recorded({ path: '/a/path/of/some-length' });
const fine = recorded({ path: '/fine' });
const refused = recorded({
  path: '/refused\u001b[31m',
  status: 403,
  errorCode: 'ERR_POSTERN_ACCESS_DENIED',
  passes: ['ip_restriction', { reason: 'allowed', rule: { text: 'allow 192.0.2.0/24' } }],
  waits: ['access', 3.5],
  refusedBy: 'access:denied',
  decidingRule: 'deny[0]',
  userId: 'au_1',
  userKind: 'user',
  target: null,
  admittedMs: null,
});
history.record(long);
history.record(fine);
history.record(refused);

suite('postern requests', () => {
  test('lists the last requests, newest first, without control characters', async () => {
    const { code, stdout } = await postern('requests');
    assert.equal(code, 0);
    const [first = '', second = ''] = stdout.trimEnd().split('\n');
    assert.match(first, new RegExp(`^20\\S+Z  ${refused.id}  403  GET   shop\\.example\\.com/refused\\\\u001b`));
    assert.match(first, / {2}192\.0\.2\.7 {2}12\.35 ms {2}access:denied$/);
    assert.match(second, / {2}127\.0\.0\.1:8080$/);
    const only = await postern('requests', '--status', '4xx', '--user', 'au_1', '-o', 'json');
    assert.deepEqual(
      JSON.parse(only.stdout).requests.map(({ id }: { id: string }) => id),
      [refused.id],
    );
    const { body: edge } = await world.api('POST', '/edges/https', { hostports: ['named.example.com:443'] });
    const { body: route } = await world.api('POST', `/edges/https/${edge.id}/routes`, {
      match_type: 'path_prefix',
      match: '/shop',
    });
    const ofRoute = recorded({ path: '/of-route', routeId: route.id });
    history.record(ofRoute);
    const named = await postern('requests', '--route', 'named.example.com/shop', '-o', 'json');
    assert.deepEqual(
      JSON.parse(named.stdout).requests.map(({ id }: { id: string }) => id),
      [ofRoute.id],
    );
    assert.deepEqual((await postern('requests', '--host', 'none.example')).stderr, 'none\n');
  });

  for (const columns of [60, 80, 120, 200]) {
    test(`is a table with a head that fits a terminal of ${columns} columns: the id gives way first`, async () => {
      const { stdout } = await runCommand(['requests'], { env, columns });
      const [head = '', ...lines] = plainLines(stdout);
      assert.ok(
        [head, ...lines].every((line) => line.length <= columns),
        stdout,
      );
      const heads = ['TIME', 'CODE', 'REQUEST', 'REASON', ...(columns >= 80 ? ['WHO'] : [])];
      assert.deepEqual(head.split(/ {2,}/).slice(0, heads.length), heads);
      assert.match(
        lines.find((line) => line.includes('/fine')) ?? '',
        /^\d\d:\d\d:\d\d {2}200 {3}GET shop\.example\.com\/fine( |$)/,
      );
      // The path of a request without a reason goes on where others have one.
      assert.ok(
        lines.some((line) => line.includes('/a/path/of/some-length')),
        stdout,
      );
      assert.match(lines.find((line) => line.includes('  403  ')) ?? '', / {2}access:denied( |$)/);
      assert.equal(stdout.includes(fine.id), columns >= 120);
    });
  }

  test('has local times on a terminal, and with --utc those of the API', async () => {
    const startedAtMs = Date.parse('2026-01-02T23:30:00Z');
    history.record(recorded({ host: 'old.example.com', startedAtMs }));
    const timeOf = async (...flags: readonly string[]): Promise<string> => {
      const args = ['requests', '--host', 'old.example.com', ...flags];
      return plainLines((await runCommand(args, { env, columns: 120 })).stdout)[1]?.slice(0, 11) ?? '';
    };
    assert.equal(await timeOf('--utc'), '01-02 23:30');
    const local = new Date(startedAtMs);
    assert.equal((await timeOf()).slice(6), local.toTimeString().slice(0, 5));
  });

  test('names people instead of ids, and finds their requests by name', async () => {
    const body = { name: 'ci runner', description: 'builds' };
    const { body: account } = await world.api('POST', '/service_accounts', body);
    const theirs = recorded({ path: '/theirs', userId: account.id, userKind: 'service_account' });
    history.record(theirs);
    const { stdout } = await runCommand(['requests', '--user', 'ci runner'], { env, columns: 120 });
    const lines = plainLines(stdout);
    assert.equal(lines.length, 2);
    assert.match(lines[1] ?? '', /\/theirs +ci runner /);
    assert.ok(!stdout.includes(account.id));
  });

  test('shows the decisions of one request', async () => {
    const { code, stdout } = await postern('requests', 'show', refused.id);
    assert.equal(code, 0);
    assert.match(stdout, /^GET shop\.example\.com\/refused\\u001b\[31m {2}→ {2}403\n/);
    assert.match(stdout, /ip_restriction +pass +allowed \(allow 192\.0\.2\.0\/24\)\n/);
    assert.match(stdout, /access +refuse +denied \(deny\[0\]\) after 3\.5 ms\n/);
    assert.match(stdout, /timings +answered after 10 ms, finished after 12\.35 ms/);
    const json = await postern('requests', 'show', fine.id, '--output=json');
    assert.equal(JSON.parse(json.stdout).id, fine.id);
    const missing = await postern('requests', 'show', `rq_${'0'.repeat(27)}`);
    assert.equal(missing.code, 1);
    assert.match(missing.stderr, /no node has the request "rq_0{27}": it is still running/);
  });

  test('tail prints requests that finish from now on', async () => {
    const lines: string[] = [];
    const code = await runCli(['requests', 'tail', '--count', '2'], {
      env,
      isTerminal: false,
      print: (line) => lines.push(line),
      warn: () => {
        // The command waits from now on.
        history.record(recorded({ path: '/later' }));
        history.record(recorded({ path: '/last' }));
      },
    });
    assert.equal(code, 0);
    assert.deepEqual(
      lines.map((line) => /\/\w+/.exec(line)?.[0]),
      ['/later', '/last'],
    );
    const since = await postern('requests', 'tail', '--since', '1h', '--count', '1', '-o', 'json');
    assert.equal(JSON.parse(since.stdout).id, long.id);
  });

  test('wrong usage is explained', async () => {
    for (const [args, says] of [
      [['requests', 'sho'], /Did you mean "?show/],
      [['requests', 'show'], /Postern-Request-Id/],
      [['requests', 'show', 'req_1'], /ids start with rq_/],
      [['requests', '--status', 'abc'], /--status must be/],
      [['requests', '--status', '9xx'], /a class such as 5xx, or 0/],
      [['requests', '--limit', '0'], /--limit must be/],
      [['requests', 'tail', '--count', 'x'], /--count must be/],
      [['requests', '--since', 'soon'], /--since takes/],
      [
        ['requests', '--route', 'none.example.com/x'],
        /--route: no route is named none\.example\.com\/x\. "postern status" lists/,
      ],
    ] as const) {
      const { code, stderr } = await postern(...args);
      assert.equal(code, 2, args.join(' '));
      assert.match(stderr, says);
    }
  });
});
