// Long form: compiles and packs the program. Short form: test/client/client.test.ts
// Own process: takes long, so it starts first.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { builtPackage } from '../support/built-package.ts';
import { findOldNode } from '../support/old-node.ts';
import { tempDir } from '../support/temp-dir.ts';
import { TEST_API_KEY, TestWorld } from '../support/test-world.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const TIMEOUT_MS = 240_000;

const PROGRAM = `
import { PosternApiError, PosternClient, responseOf } from 'postern/client';

const client = new PosternClient({ baseUrl: process.argv[2], apiKey: process.argv[3] });
const edge = await client.httpsEdges.create({ hostports: [process.argv[4]] });
for await (const listed of client.httpsEdges.list()) if (listed.id === edge.id) console.log('listed', responseOf(edge).etag);
await client.httpsEdges.create({ hostports: ['nonsense'] }).catch((error) => console.log(error instanceof PosternApiError));
`;

const CONSUMER = `
import { type HttpsEdge, PosternClient } from 'postern/client';

export async function first(client: PosternClient): Promise<HttpsEdge | undefined> {
  // @ts-expect-error: the types are those of the schemas
  await client.httpsEdges.create({ hostport: [] });
  return (await client.httpsEdges.page({ limit: 1 })).https_edges[0];
}
`;

test('the packed client works on its own where it is installed', { timeout: TIMEOUT_MS }, async (t) => {
  const folder = await tempDir(t);
  const project = join(folder, 'project');
  const home = join(project, 'node_modules', 'postern');
  await mkdir(home, { recursive: true });
  await run('tar', ['-xzf', (await builtPackage()).tarball, '-C', home, '--strip-components=1']);
  await writeFile(join(project, 'program.mjs'), PROGRAM);

  const world = await TestWorld.open(t);
  const runtimes = [process.execPath, findOldNode()].filter((node) => node !== null);
  for (const [index, node] of runtimes.entries()) {
    const args = ['program.mjs', world.baseUrl, TEST_API_KEY, `packed-${index}.localhost:7443`];
    const { stdout } = await run(node, args, { cwd: project });
    assert.match(stdout, /^listed "\d+"\ntrue\n$/, node);
  }

  await writeFile(join(project, 'consumer.ts'), CONSUMER);
  // Neither Node's types nor ours are available: a browser's project has the DOM.
  const strict = [
    '--strict',
    '--noEmit',
    '--target',
    'es2022',
    '--module',
    'nodenext',
    '--lib',
    'es2022,dom',
    '--types',
    '',
  ];
  await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), ...strict, 'consumer.ts'], {
    cwd: project,
  });
});
