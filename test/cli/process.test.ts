// Own process: takes long, so it starts first.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, type TestContext, test } from 'node:test';
import { LAUNCHER, startServerProcess } from '../support/server-process.ts';
import { tempDir } from '../support/temp-dir.ts';

const COMPILED = process.env['NODE_COMPILE_CACHE'];
const SECRET = 'planted-client-secret';

interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command from the documentation, with `postern` meaning this checkout's. */
async function shell(command: string, env: Record<string, string>, stdin = ''): Promise<Run> {
  const script = `postern() { '${process.execPath}' '${LAUNCHER}' "$@"; }\nset -o pipefail\n${command}`;
  const child = spawn('bash', ['-c', script], {
    env: { PATH: process.env['PATH'], ...(COMPILED !== undefined && { NODE_COMPILE_CACHE: COMPILED }), ...env },
  });
  child.stdin.end(stdin);
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code: code as number | null, stdout, stderr };
}

async function startServer(
  test: Pick<TestContext, 'after'>,
  args: readonly string[] = [],
): Promise<{ env: Record<string, string>; folder: string }> {
  const folder = await tempDir(test);
  const dataDir = join(folder, 'data');
  const { base_url } = await startServerProcess(test, dataDir, { args }).ready();
  return { env: { POSTERN_CLI_API_URL: base_url, POSTERN_DATA_DIR: dataDir }, folder };
}

// One for all tests of the file; the hook's type differs only in an argument that nobody here uses.
const plain = startServer({ after: after as TestContext['after'] });

test("the documentation's commands work as written, against a new server", async () => {
  const { env, folder } = await plain;
  const created = await shell('postern api https-edges create --hostports app.localhost:7443 --json', env);
  assert.equal(created.code, 0, created.stderr);
  const edge = (JSON.parse(created.stdout) as { id: string }).id;
  const routed = await shell(
    `postern api https-edge-routes create ${edge} --from-file - --json`,
    env,
    'match: /\nmatch_type: path_prefix\n',
  );
  assert.equal(routed.code, 0, routed.stderr);
  const route = (JSON.parse(routed.stdout) as { id: string }).id;

  const secretFile = join(folder, 'secret');
  await writeFile(secretFile, `${SECRET}\n`);
  const command = `postern api oidc replace --edge ${edge} --route ${route} --issuer https://accounts.example.com`;
  const replaced = shell(`${command} --client-secret @${secretFile}`, env);
  const seen = await commandLinesWhile(replaced);
  const { code, stdout, stderr } = await replaced;
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^issuer +https:\/\/accounts\.example\.com$/m);

  const key = (await readFile(join(env['POSTERN_DATA_DIR'] as string, 'first-api-key'), 'utf8')).trim();
  assert.ok(
    seen.some((line) => line.includes('oidc replace')),
    'the command was seen while it ran',
  );
  for (const secret of [key, SECRET]) assert.ok(![...seen, stdout, stderr].some((line) => line.includes(secret)));
});

test('exit codes: 0 done, 1 rejected, 2 usage, 3 unreachable; a closed pipe is not a failure', async () => {
  const { env } = await plain;
  const wanted: Readonly<Record<string, number>> = {
    'postern api event-types list --json | head -c 1': 0,
    'postern validate --schema | head -c 1': 0,
    'postern api https-edges get edghts_000000000000000000000000000': 1,
    'postern api https-edges get --nonsense': 2,
    'postern api https-edges list --api-url http://127.0.0.1:2': 3,
  };
  const runs = Object.keys(wanted).map(async (command) => [command, (await shell(command, env)).code] as const);
  assert.deepEqual(Object.fromEntries(await Promise.all(runs)), wanted);
});

test('trusts a server with a certificate of its own CA when the CA is named', async (t) => {
  const { env } = await startServer(t, ['--api-tls-cert', 'internal']);
  assert.match(env['POSTERN_CLI_API_URL'] as string, /^https:/);
  const ca = join(env['POSTERN_DATA_DIR'] as string, 'internal-ca', 'other', 'certificate.pem');
  const [trusted, untrusted] = await Promise.all([
    shell(`postern api event-types list --root-ca ${ca}`, env),
    shell('postern api event-types list', env),
  ]);
  assert.equal(trusted.code, 0, trusted.stderr);
  assert.equal(untrusted.code, 3);
  assert.match(untrusted.stderr, /Its certificate is not trusted: pass its CA with --root-ca FILE/);
});

/** What any user of the machine could read in the process list in the meantime. */
async function commandLinesWhile(running: Promise<unknown>): Promise<readonly string[]> {
  const seen = new Set<string>();
  let isDone = false;
  void running.finally(() => {
    isDone = true;
  });
  while (!isDone) {
    for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
      seen.add((await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' '));
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return [...seen];
}
