// Long form: compiles and packs the program. Short form: test/e2e/process/package.test.ts
// Own process: takes long, so it starts first.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { builtPackage } from '../../support/built-package.ts';
import { startPostern } from '../../support/server-process.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** A process that does not end must fail the test, not hang it. */
const TIMEOUT_MS = 240_000;

const run = promisify(execFile);
const root = fileURLToPath(new URL('../../..', import.meta.url));
/**
 * 2.94 MiB on 19 November 2026: 2.0 for the program and its dependencies, 0.3 each for the console and for docs, 0.1
 * each for the forms of the command line and the client.
 */
const MAX_PACKAGE_BYTES = 3.1 * 1024 * 1024;

/** The agent as a library, as a dependent program uses it. */
const AGENT = `
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'postern/agent';

const [, , serverAddr, dataDir] = process.argv;
const ca = globSync(join(dataDir, 'internal-ca', '*', 'certificate.pem')).map((file) => readFileSync(file, 'utf8'));
const authtoken = readFileSync(join(dataDir, 'first-authtoken'), 'utf8').trim();
const agent = await connect({ serverAddr, authtoken, ca, tunnels: [{ proto: 'https', addr: 3000 }] });
console.log(agent.publicUrl);
await agent.close();
`;

suite('the published package', { timeout: TIMEOUT_MS }, () => {
  test('runs from node_modules, where Node strips no types, and brings no runtime along', async (t) => {
    const folder = await tempDir(t);
    const packed = await builtPackage();
    assert(packed.size < MAX_PACKAGE_BYTES, `${packed.size} bytes`);
    const names = new Set(packed.files.map(({ path }) => path));
    for (const path of [
      'LICENSE',
      'dist/LICENSES.txt',
      'dist/app/main/cli.js',
      'dist/store/sqlite/worker.js',
      'dist/app/main/workers/thread/edge-worker.js',
      'dist/app/settings/defaults.yaml',
    ])
      assert(names.has(path), `${path} is missing: ${packed.files.length} files`);
    // Declarations that no entry of the package leads to would only be weight.
    assert(
      !names.has('dist/app/main/cli.d.ts') && names.has('dist/client/index.d.ts') && names.has('dist/agent/index.d.ts'),
    );
    assert(![...names].some((path) => path.startsWith('dist/postern-')), 'a single executable');
    const unwanted = packed.files.filter(({ path }) =>
      /\.test\.|(^|\/)(src|test|tools|node_modules)\/(?!.*README\.md$)/.test(path),
    );
    assert.deepEqual(unwanted, []);

    const modules = join(folder, 'node_modules');
    const home = join(modules, 'postern');
    await mkdir(home, { recursive: true });
    await run('tar', ['-xzf', packed.tarball, '-C', home, '--strip-components=1']);
    await linkDependencies(modules);

    const launcher = join(home, 'bin', 'postern.mjs');
    const server = startPostern(t, {
      launcher,
      args: [
        'server',
        '--data-dir',
        join(folder, 'data'),
        '--api-listen',
        '127.0.0.1:0',
        '--edge-listen',
        '127.0.0.1:0',
        '--edge-http-listen',
        '127.0.0.1:0',
        '--tunnel-listen',
        '127.0.0.1:0',
      ],
    });
    const { base_url, addresses } = await server.ready();
    assert.equal((await fetch(`${base_url}/healthz`)).status, 200);
    await writeFile(join(folder, 'agent.mjs'), AGENT);
    const { tunnel } = addresses as unknown as { tunnel: string };
    const agent = await run(process.execPath, ['agent.mjs', tunnel, join(folder, 'data')], { cwd: folder });
    assert.match(agent.stdout, /^https:\/\/[a-z0-9-]+\.localhost:\d+\n$/);
    server.child.kill('SIGTERM');
    assert.deepEqual(await server.exited, { code: 0, signal: null });
  });
});

/** What `npm install` of the package would install, without the network. */
async function linkDependencies(modules: string): Promise<void> {
  const { dependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  for (const name of Object.keys(dependencies)) {
    if (name.includes('/')) await mkdir(join(modules, name.split('/')[0] ?? ''), { recursive: true });
    await symlink(join(root, 'node_modules', name), join(modules, name));
  }
  assert((await readdir(modules)).length > 1);
}
