import { Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';
import type { Cleanup } from '../test/support/cleanup.ts';
import { LoginWorld } from '../test/support/login-world.ts';

/**
 * Counts the files of `src` of which a line runs between a request and its answer, by V8's coverage:
 *   node tools/count-files.ts           the counts
 *   node tools/count-files.ts --files   the files too
 * Timers and other background work are subtracted: a file counts that runs in all of three attempts, and not while
 * idle.
 */
const ATTEMPTS = 3;
const IDLE_MS = 300;
const SRC = new URL('../src/', import.meta.url).href;
const hooks: (() => Promise<void>)[] = [];
const cleanup: Cleanup = { after: (hook) => void hooks.push(async () => hook()) };

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
try {
  const world = await LoginWorld.open(cleanup);
  const site = await world.site();
  const browser = world.browser();
  await browser.logIn(site.host, '/');
  const path = `${site.routePath}/oidc`;
  await report('PUT of the module oidc, through the API', () => world.edge.api('PUT', path, world.module()));
  // The change ends the login.
  await browser.logIn(site.host, '/');
  await report('GET with a login, through the edge', async () => {
    const { status } = await browser.open(site.host, '/page');
    if (status !== 200) throw new Error(`the page answered ${status}`);
  });
} finally {
  for (const hook of hooks) await hook();
  session.disconnect();
}

async function report(name: string, act: () => Promise<unknown>): Promise<void> {
  await act();
  let walked: ReadonlySet<string> | undefined;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    await filesSinceLastLook();
    await act();
    const files = await filesSinceLastLook();
    walked = walked === undefined ? files : walked.intersection(files);
  }
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  const idle = await filesSinceLastLook();
  const files = [...(walked ?? [])].filter((file) => !idle.has(file)).toSorted();
  console.log(`${name}: ${files.length} files`);
  if (process.argv.includes('--files')) for (const file of files) console.log(`  ${file}`);
}

/** Looking sets V8's counts back to zero. */
async function filesSinceLastLook(): Promise<ReadonlySet<string>> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const files = result
    .filter(({ url, functions }) => url.startsWith(SRC) && functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0))
    .map(({ url }) => fileURLToPath(url).slice(fileURLToPath(SRC).length));
  return new Set(files);
}
